"""A program that hands psycopg2 a class of cursors that fires, and asks PostgreSQL.

Input: the number of statements of each kind; the server, by PGHOST and its like.
Output: nothing.
"""

import sys

import psycopg2
import psycopg2.extras
from psycopg2 import sql

import pyusdt.instrument
from pyusdt.instrument import dbapi

TIMES = int(sys.argv[1])
BUILT = sql.SQL("select {} + %s").format(sql.Literal(3))

connection = psycopg2.connect("", cursor_factory=dbapi.cursor(psycopg2.extensions.cursor))
connection.autocommit = True
cursor = connection.cursor()
cursor.execute("create temporary table item (number integer)")
psycopg2.extras.execute_values(
    cursor, "insert into item values %s", [(number,) for number in range(TIMES)]
)
for number in range(TIMES):
    cursor.execute(b"select number from item")
    assert len(cursor.fetchall()) == TIMES
    cursor.execute(BUILT, (number,))
    assert cursor.fetchone() == (3 + number,)
    try:
        cursor.execute("select nothing")
    except psycopg2.errors.UndefinedColumn:
        pass
    cursor.callproc("abs", (-number,))
    with connection.cursor(cursor_factory=dbapi.cursor(psycopg2.extras.DictCursor)) as named:
        named.execute("select 2 as two")
        assert named.fetchone()["two"] == 2
connection.autocommit = False
with connection.cursor("named") as named:
    named.execute("select 1 as of_the_server")
    assert named.fetchall() == [(1,)]
connection.close()
assert pyusdt.instrument.trouble() == "", pyusdt.instrument.trouble()
