"""A program that asks PostgreSQL by psycopg2, and knows nothing of pyusdt.

Input: the number of statements of each kind; the server, by PGHOST and its like.
Output: nothing.
"""

import contextlib
import sys

import psycopg2
import psycopg2.extras

TIMES = int(sys.argv[1])


class Connection(psycopg2.extensions.connection):
    """A class of the program's own."""


for factory in (None, Connection):
    connection = psycopg2.connect("", connection_factory=factory)
    assert isinstance(connection, factory or psycopg2.extensions.connection)
    connection.autocommit = True
    for _ in range(TIMES):
        with connection.cursor() as cursor:
            cursor.execute("select 2")
            assert cursor.fetchall() == [(2,)]
            with contextlib.suppress(psycopg2.errors.UndefinedColumn):
                cursor.execute("select nothing")
        with connection.cursor(cursor_factory=psycopg2.extras.DictCursor) as named:
            named.execute("select 3 as three")
            assert named.fetchone()["three"] == 3
    connection.autocommit = False
    with connection.cursor("named") as named:
        named.execute("select 1 as of_the_server")
        assert named.fetchall() == [(1,)]
    connection.close()
