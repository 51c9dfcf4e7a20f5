"""A program that asks a database in memory by SQLAlchemy, and knows nothing of pyusdt.

Input: the number of statements of each kind.
Output: nothing.
"""

import sys

from sqlalchemy import create_engine
from sqlalchemy.exc import OperationalError

with create_engine("sqlite://").connect() as connection:
    connection.exec_driver_sql("create table item (number integer)")
    for number in range(int(sys.argv[1])):
        connection.exec_driver_sql("insert into item values (?)", (number,))
        try:
            connection.exec_driver_sql("select nothing")
        except OperationalError:
            pass
