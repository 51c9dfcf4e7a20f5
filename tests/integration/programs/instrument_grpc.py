"""A gRPC server and its client in one program that knows nothing of pyusdt.

Input: how often.
Output: the server's port.
"""

import sys
import threading
from concurrent import futures

import grpc

COUNT = int(sys.argv[1])


def order(request, _context):
    return request * 2


def refuse(_request, context):
    context.abort(grpc.StatusCode.NOT_FOUND, "no such order")


def fail(_request, _context):
    raise ZeroDivisionError


def parts(request, _context):
    yield from (request, request)


def total(requests, _context):
    return b"".join(requests)


def echo(requests, context):
    yield from requests
    context.abort(grpc.StatusCode.OUT_OF_RANGE, "enough")


METHODS = {
    "Order": grpc.unary_unary_rpc_method_handler(order),
    "Refuse": grpc.unary_unary_rpc_method_handler(refuse),
    "Fail": grpc.unary_unary_rpc_method_handler(fail),
    "Parts": grpc.unary_stream_rpc_method_handler(parts),
    "Total": grpc.stream_unary_rpc_method_handler(total),
    "Echo": grpc.stream_stream_rpc_method_handler(echo),
}


def code_of(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code().name


def echoes(channel):
    """Until a thread of the channel's tells that it has ended, as it has told of all that ended before."""
    ended = threading.Event()
    call = channel.stream_stream("/shop.Shop/Echo")(iter([b"a"]), timeout=60)
    call.add_done_callback(lambda _: ended.set())
    assert code_of(lambda: list(call)) == "OUT_OF_RANGE"
    assert ended.wait(60)


server = grpc.server(futures.ThreadPoolExecutor(2))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("shop.Shop", METHODS),))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
    for _ in range(COUNT):
        assert channel.unary_unary("/shop.Shop/Order")(b"a", timeout=60) == b"aa"
        assert channel.unary_unary("/shop.Shop/Order").future(b"a", timeout=60).result() == b"aa"
        assert (
            code_of(lambda: channel.unary_unary("/shop.Shop/Refuse")(b"a", timeout=60))
            == "NOT_FOUND"
        )
        assert (
            code_of(lambda: channel.unary_unary("/shop.Shop/Fail")(b"a", timeout=60)) == "UNKNOWN"
        )
        assert (
            code_of(lambda: channel.unary_unary("/shop.Shop/Nothing")(b"a", timeout=60))
            == "UNIMPLEMENTED"
        )
        assert list(channel.unary_stream("/shop.Shop/Parts")(b"a", timeout=60)) == [b"a", b"a"]
        assert channel.stream_unary("/shop.Shop/Total")(iter([b"a", b"b"]), timeout=60) == b"ab"
        echoes(channel)
server.stop(None).wait()
