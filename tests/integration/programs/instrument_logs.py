"""A program that logs by loguru and structlog, and knows nothing of pyusdt.

Input: how often.
Output: nothing.
"""

import io
import logging
import sys

import structlog
from loguru import logger


def drop(_logger, _method, event):
    if event["event"] == "dropped":
        raise structlog.DropEvent
    return event


logger.remove()
logger.add(io.StringIO(), level="INFO")
logger.add(io.StringIO(), level="INFO")
structlog.configure(
    [drop, structlog.processors.JSONRenderer()],
    logger_factory=structlog.PrintLoggerFactory(io.StringIO()),
)
own = structlog.get_logger().bind(logger="shop")
standard = structlog.wrap_logger(
    logging.getLogger("standard"), [structlog.processors.KeyValueRenderer()]
)
for number in range(int(sys.argv[1])):
    logger.info("loguru {}", number % 1)
    logger.debug("below the level of all")
    own.warning("structlog", number=number)
    own.info("dropped")
    standard.error("by logging")
