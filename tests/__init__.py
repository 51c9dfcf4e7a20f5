"""The tests, a package: what several of them need is imported from tests.support, wherever the checkout lies."""
