"""A Celery application that knows nothing of pyusdt. `pyusdt help celery` traces it.

celery -A celery_shop worker    is the worker; its broker is a folder beside it
python celery_shop.py 30        sends 30 tasks, of which each third fails
"""

import os
import sys
import time

from celery import Celery

FOLDER = "celery_shop_broker"
os.makedirs(FOLDER, exist_ok=True)
app = Celery(
    "celery_shop",
    broker="filesystem://",
    broker_transport_options={
        "data_folder_in": FOLDER,
        "data_folder_out": FOLDER,
        "control_folder": os.path.join(FOLDER, "control"),
    },
)
app.conf.task_ignore_result = True


@app.task(name="shop.order")
def order(number):
    time.sleep(0.002)
    if number % 3 == 0:
        raise ValueError(number)


if __name__ == "__main__":
    for each in range(int(sys.argv[1])):
        order.delay(each)
