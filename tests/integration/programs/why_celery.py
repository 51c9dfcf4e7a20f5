"""Tasks of Celery with planted causes (why_shop.py), one for each: why_celery.slow_sql …; as a program it sends them.

Environment: that of why_shop.py; WHY_REDIS is the broker.
Input: the number of tasks of each cause, each how many of them have it, causes.
"""

import os
import sys

import celery

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

app = celery.Celery("why_celery", broker=f"redis+socket://{os.environ['WHY_REDIS']}")
app.conf.update(task_ignore_result=True, broker_connection_retry_on_startup=True)
CAUSES = os.environ.get("WHY_CAUSES", "").split()


def add_task(cause):
    @app.task(name=cause)
    def run(number, every):
        import why_shop

        why_shop.handle(cause, number, every)


for each in CAUSES:
    add_task(each)


if __name__ == "__main__":
    count, every = int(sys.argv[1]), int(sys.argv[2])
    for cause in CAUSES:
        for number in range(count):
            app.send_task(cause, (number, every))
