"""Why requests are slow: `pyusdt why` compares the slow ones with the usual ones of the same route.

request_log.py keeps requests with their spans, sampled_code.py what the samples of their stacks
showed, causes.py compares, report.py says it in words.
"""
