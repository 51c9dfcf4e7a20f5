"""A Celery application that knows nothing of pyusdt; its broker is a folder.

Input: HOOKS_BROKER, the folder; as a program: the number of tasks to send.
Output: nothing.

- Every third task fails.
"""

import os
import sys

from celery import Celery

folder = os.environ["HOOKS_BROKER"]
app = Celery(
    "instrument_celery",
    broker="filesystem://",
    broker_transport_options={
        "data_folder_in": folder,
        "data_folder_out": folder,
        "control_folder": os.path.join(folder, "control"),
    },
)
app.conf.task_ignore_result = True


@app.task(name="shop.order")
def order(number):
    if number % 3 == 0:
        raise ValueError(number)


if __name__ == "__main__":
    for each in range(int(sys.argv[1])):
        order.delay(each)
