"""A notebook widget: the page of pydtrace --web in a cell, updated at each interval.

- The page is in a frame that may run its script and nothing else.
- A thread reads the tracing, and ends with it, or with the widget.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from . import view_json
from .live_model import LiveModel
from .web_sink import render_page

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT = """
function render({model, el}) {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.style.cssText = "width: 100%; height: 32rem; border: 0";
    frame.srcdoc = model.get("page");
    const tell = () => { if (model.get("state")) frame.contentWindow.postMessage(model.get("state"), "*"); };
    frame.addEventListener("load", tell);
    model.on("change:state", tell);
    el.append(frame);
}
export default {render};
"""


class _AggregationReader:
    """What view.View.add_interval() wants of Aggregates."""

    def __init__(self, running: Any) -> None:
        self.program, self.take_snapshot = running.driver.program, running.read_aggregation


class WidgetFeeder(threading.Thread):
    """Tells a widget of each interval: say(state)."""

    def __init__(
        self, running: Any, interval: float, tracing: object, send_state: Callable[[str], None]
    ) -> None:
        super().__init__(name="pyusdt-live", daemon=True)
        self._running, self._interval, self._send_state = running, interval, send_state
        self._tracing = tracing  # which ends when nobody has it
        self.stopped = threading.Event()

    def run(self) -> None:
        view, look, last, ended = (
            LiveModel(view_json.MAX_INTERVALS),
            _AggregationReader(self._running),
            time.monotonic(),
            False,
        )
        while not ended and not self.stopped.is_set():
            self.stopped.wait(self._interval)
            ended = self._running.queue.over
            now = time.monotonic()
            view.drops = {
                kind: count for kind, count in self._running.count_drops().items() if count
            }
            view.add_interval(look, now - last)  # type: ignore[arg-type]
            last = now
            whole = view_json.full_state(
                view, time.time(), self._interval, view_json.LIVE_INTERVALS
            )
            self._send_state(view_json.encode_event("whole", {**whole, "ended": ended}))


def make_widget(running: Any, interval: float, tracing: object) -> Any:
    """The widget, which keeps the tracing.  ImportError without anywidget."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise ImportError("t.live() needs anywidget: pip install 'pydtrace[notebook]'") from None

    class Live(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = SCRIPT
        page = traitlets.Unicode(render_page("")).tag(sync=True)
        state = traitlets.Unicode("").tag(sync=True)

        def close(self) -> None:
            """No more looks."""
            feeder.stopped.set()
            super().close()

    made = Live()
    feeder = WidgetFeeder(running, interval, tracing, lambda state: setattr(made, "state", state))
    feeder.start()
    return made
