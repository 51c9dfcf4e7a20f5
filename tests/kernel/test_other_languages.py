"""Programs in other languages, as Debian has them: each is asked how often it did something, and says so itself.

PHP, Ruby: their own probes.  nginx, redis, Rust, Go: their functions.
"""

import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.request

import pytest

from tests.support.kernel_harness import pydtrace, start_pydtrace, wait_until
from tests.support.servers import redis_server

pytestmark = pytest.mark.usefixtures("bpf")
UNPACKED = os.path.expanduser("~/.cache/pyusdt-compilers")  # by .ci/setup

PHP = """<?php
class Shop {
    static function tax($n) { return 2 * $n; }
    function price($n) { return self::tax($n) + 1; }
}
$shop = new Shop;
for ($i = 0; $i < 200; $i++) $shop->price($i);
for ($i = 0; $i < 3; $i++) try { throw new DomainException("no"); } catch (Exception $e) { }
"""
RUBY = """class Shop
  def tax(n) = 2 * n
  def price(n) = tax(n) + 1
end
trace = TracePoint.new(:call) {}
trace.enable if ARGV[0]
200.times { |n| Shop.new.price(n) }
3.times { begin; raise KeyError, "no"; rescue KeyError; end }
"""
RUST = """mod shop {
    pub struct Basket<T> { pub items: Vec<T> }
    impl<T: Copy> Basket<T> {
        #[inline(never)] pub fn add(&mut self, item: T) -> usize { self.items.push(item); self.items.len() }
    }
    #[inline(never)] pub fn checkout(n: u64) -> usize {
        let mut basket = Basket { items: Vec::new() };
        let mut sum = 0;
        for i in 0..n { sum += basket.add(i); }
        sum
    }
}
fn main() { println!("{}", shop::checkout(std::env::args().count() as u64 * 200)); }
"""
GO = """package main

type Basket struct{ n int }

//go:noinline
func (b *Basket) Add(n int) int { b.n += n; return b.n }

//go:noinline
func checkout(n int) int {
	b := &Basket{}
	for i := 0; i < n; i++ {
		b.Add(i)
	}
	return b.n
}

func main() { println(checkout(200)) }
"""


def program(name):
    if (found := shutil.which(name)) is None:
        pytest.skip(f"no {name}")
    return found


def counts(out):
    """{the words of a line: the number at its end}."""
    return {
        tuple(words[:-1]): int(words[-1]) for words in map(str.split, out.splitlines()) if words
    }


def test_php(tmp_path):
    php = program("php")
    (tmp_path / "shop.php").write_text(PHP)
    script = (
        "php$target:::function-entry /arg3/ { @[copyinstr(arg3), copyinstr(arg4), copyinstr(arg0)] = count(); } "
        "php$target:::exception-thrown { @thrown[copyinstr(arg0)] = count(); }"
    )
    out, err, _ = pydtrace(
        "-qn",
        script,
        "-c",
        f"{php} {tmp_path}/shop.php",
        env={**os.environ, "USE_ZEND_DTRACE": "1"},
    )
    found = counts(out)
    assert found.pop(("DomainException",)) == 3, err
    assert {key: value for key, value in found.items() if key[0] == "Shop"} == {
        ("Shop", "::", "price"): 200,
        ("Shop", "::", "tax"): 200,
    }


@pytest.mark.parametrize("traces", [True, False])
def test_ruby(tmp_path, traces):
    """Ruby says nothing of methods in Ruby unless something in it traces calls (docs/howto/foreign.md); of exceptions always."""
    ruby = program("ruby")
    (tmp_path / "shop.rb").write_text(RUBY)
    script = (
        'ruby$target:::method-entry /copyinstr(arg0) == "Shop"/ { @[copyinstr(arg0), copyinstr(arg1)] = count(); } '
        'ruby$target:::raise /copyinstr(arg0) == "KeyError"/ { @raised[copyinstr(arg0)] = count(); }'
    )
    out, err, _ = pydtrace(
        "-qn", script, "-c", f"{ruby} --disable-gems {tmp_path}/shop.rb" + " traces" * traces
    )
    methods = {("Shop", "price"): 200, ("Shop", "tax"): 200} if traces else {}
    assert counts(out) == {("KeyError",): 3, **methods}, err


CONF = """pid pid; error_log stderr; daemon off; worker_processes 1;
events {{ }}
http {{ access_log off; server {{ listen 127.0.0.1:{port}; location / {{ return 200 tea; }} }} }}
"""


@pytest.fixture
def nginx(tmp_path):
    """(port, the worker's id) of a server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "conf").write_text(CONF.format(port=port))
    with subprocess.Popen(
        [program("nginx"), "-p", tmp_path, "-c", "conf"], stderr=subprocess.DEVNULL
    ) as master:
        children = f"/proc/{master.pid}/task/{master.pid}/children"

        def workers():
            with open(children) as file:
                return [int(pid) for pid in file.read().split()]

        try:
            wait_until(workers)
            yield port, workers()[0]
        finally:
            master.send_signal(signal.SIGTERM)


def test_nginx(nginx):
    port, worker = nginx
    script = (
        'BEGIN { printf("ready\\n"); } pid$target:nginx:ngx_http_process_request:entry { @ = count(); } '
        "pid$target:nginx:ngx_http_send_header:return { @returned[(int)arg1] = count(); }"
    )
    tracer = start_pydtrace("-q", "-n", script, "-p", worker, wait_for="ready")
    for _ in range(20):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
            assert answer.read() == b"tea"
    tracer.send_signal(signal.SIGINT)
    out, err = tracer.communicate(timeout=20)
    assert counts(out) == {(): 20, ("0",): 20}, err


def asked(path, *words):
    """All that a redis server at a socket answers."""
    with socket.socket(socket.AF_UNIX) as link, link.makefile("rb") as answers:
        link.connect(path)
        link.sendall(" ".join(words).encode() + b"\r\nQUIT\r\n")
        return answers.read().removesuffix(b"+OK\r\n")


@pytest.mark.parametrize("children", [True, False])
def test_the_child_that_saves_for_redis(children):
    """The parent forks it and goes on; the child alone writes."""
    with redis_server.server() as path:
        for i in range(10):
            assert asked(path, "SET", f"key{i}", "tea") == b"+OK\r\n"
        pid = int(re.search(rb"process_id:(\d+)", asked(path, "INFO", "server")).group(1))
        script = (
            'BEGIN { printf("ready\\n"); } pid$target:redis-*:rdbSaveBackground:entry, pid$target:redis-*:rdbSaveRio:entry, '
            "pid$target:redis-*:rdbSaveKeyValuePair:entry { @[probefunc, pid == $target] = count(); }"
        )
        tracer = start_pydtrace(
            "-q", *["-x", "children"] * children, "-n", script, "-p", pid, wait_for="ready"
        )
        for _ in range(2):
            assert asked(path, "BGSAVE").startswith(b"+Background saving")
            wait_until(lambda: b"bgsave_in_progress:0" in asked(path, "INFO", "persistence"), 20)
        tracer.send_signal(signal.SIGINT)
        out, err = tracer.communicate(timeout=20)
    of_child = {("rdbSaveRio", "0"): 2, ("rdbSaveKeyValuePair", "0"): 20} if children else {}
    assert counts(out) == {("rdbSaveBackground", "1"): 2, **of_child}, err


def compiled(name, *command):
    """By a compiler of the machine, or by one that .ci/setup has unpacked."""
    there = shutil.which(name)
    environment = dict(os.environ)
    if there is None:
        there = next(
            iter(
                glob.glob(f"{UNPACKED}/usr/bin/{name}")
                + glob.glob(f"{UNPACKED}/usr/lib/go-*/bin/{name}")
            ),
            None,
        )
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(
            glob.glob(f"{UNPACKED}/usr/lib/*-linux-gnu")
        )
    if there is None:
        pytest.skip(f"no {name}")
    subprocess.run([there, *command], check=True, env=environment)


FRAMES = re.compile(r"`(.*?)(?:\+0x[0-9a-f]+)?$", re.MULTILINE)


@pytest.mark.parametrize("mangling", [["-C", "symbol-mangling-version=v0"], []])
def test_rust(tmp_path, mangling):
    """Its names as they are written, to ask for and in stacks: by version 0, which knows what T is, and by the compiler's own choice."""
    source, out = tmp_path / "shop.rs", tmp_path / "shop"
    source.write_text(RUST)
    compiled("rustc", "-C", "opt-level=1", *mangling, "-o", str(out), str(source))
    said, err, _ = pydtrace(
        "-qn",
        "pid$target:shop:*shop::Basket*add:entry { @[probefunc, ustack(3)] = count(); }",
        "-c",
        out,
    )
    assert said.split()[0] == str(200 * 201 // 2) and said.split()[-1] == "200", (said, err)
    method, *callers = FRAMES.findall(said)
    assert callers == ["shop::shop::checkout", "shop::main"] and f"  {method} " in said, said
    assert (
        method == "<shop::shop::Basket<u64>>::add"
        or not mangling
        and method == "shop::shop::Basket<T>::add"
    )


def test_go(tmp_path):
    """Which has its own stacks, and calls a method (*T).M."""
    source, out = tmp_path / "shop.go", tmp_path / "shop"
    source.write_text(GO)
    compiled("go", "build", "-o", str(out), str(source))
    said, err, _ = pydtrace(
        "-qn",
        "pid$target:shop:main.(*Basket).Add:entry { @[probefunc, ustack(3)] = count(); }",
        "-c",
        out,
    )
    assert (
        FRAMES.findall(said) == ["main.(*Basket).Add", "main.checkout", "main.main"]
        and said.split()[-1] == "200"
    ), (said, err)
