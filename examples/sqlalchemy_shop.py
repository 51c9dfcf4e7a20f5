"""A program that asks a database by SQLAlchemy and knows nothing of pyusdt. `pyusdt help sqlalchemy` traces it.

python sqlalchemy_shop.py 1000    inserts 1,000 rows and asks for each
"""

import sys

from sqlalchemy import create_engine, text

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 1000

with create_engine("sqlite://").connect() as connection:
    connection.execute(text("create table item (number integer)"))
    for number in range(COUNT):
        connection.execute(text("insert into item values (:number)"), {"number": number})
    for number in range(COUNT):
        connection.execute(text("select count(*) from item where number < :n"), {"n": number})
