"""The API that `pyusdt` hands on: trace(), watch(), atrace() and awatch()."""
