# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A headless Chromium that tests control through its debugging pipe: no port, no network, no further package."""
import base64
import json
import os
import shutil
import subprocess

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --disable-ipc-flooding-protection "
    "--remote-debugging-pipe"
).split()
KEYS = {
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
}
TIMEOUT = 60_000  # ms that a script in the page may take; then the test fails instead of hanging


class PageError(Exception):
    """A script of the page, or one of the test, failed."""


class Browser:
    """One tab. `errors` collects the page's console output and uncaught exceptions."""

    def __init__(self, profile):
        assert PROGRAM, "no chromium here: it is among the packages of ci/packages"
        command_read, self._commands = os.pipe()
        self._answers, answer_write = os.pipe()
        # Chromium reads descriptor 3 and writes descriptor 4.
        pipes = ["bash", "-c", f'exec "$@" 3<&{command_read} 4>&{answer_write}', "bash"]
        self._process = subprocess.Popen(
            [*pipes, PROGRAM, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(command_read, answer_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command_read)
        os.close(answer_write)
        self._number, self._rest, self._session = 0, b"", None
        self.errors, self.requests, self._seen = [], [], set()
        self._attach()

    def _attach(self):
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def _message(self):
        while b"\0" not in self._rest:
            chunk = os.read(self._answers, 1 << 20)
            if not chunk:
                raise PageError("the browser went away")
            self._rest += chunk
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event):
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(
                params["exceptionDetails"].get("exception", {}).get("description", "exception")
            )
        elif method == "Runtime.consoleAPICalled":
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Log.entryAdded":
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.lifecycleEvent":
            self._seen.add(params["name"])

    def call(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise PageError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    def size(self, width, height):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def colours(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path, address=""):
        """Loads a file; returns when its scripts have ended."""
        self._seen.clear()
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=f"file://{path}{address}")
        while "load" not in self._seen or self.run("location.protocol") != "file:":
            self._note(self._message())
        self.run(
            "new Promise((done) => { const root = document.documentElement, ok = () => root.dataset.ready && done();"
            "new MutationObserver(ok).observe(root, { attributes: true }); ok(); })"
        )

    def run(self, script):
        """The value of an expression in the page; waits for a promise."""
        answer = self.call(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
            timeout=TIMEOUT,
        )
        if "exceptionDetails" in answer:
            raise PageError(answer["exceptionDetails"].get("exception", {}).get("description", script))
        return answer["result"].get("value")

    def click(self, selector):
        """Clicks with the mouse in the middle of the selected element, which nothing may cover."""
        x, y = self.run(
            f"""(() => {{
              const e = document.querySelector({json.dumps(selector)});
              e.scrollIntoView({{ block: "center" }});
              const box = e.getBoundingClientRect(), at = [box.x + box.width / 2, box.y + box.height / 2];
              const hit = document.elementFromPoint(...at);
              if (!e.contains(hit)) throw new Error("covered by " + (hit && hit.outerHTML.slice(0, 80)));
              return at;
            }})()"""
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, name, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=name,
                code=name,
                text=text if kind == "keyDown" else "",
                windowsVirtualKeyCode=KEYS.get(name, 0),
            )

    def until(self, condition):
        """Waits, frame by frame, until an expression is true; fails after a minute."""
        self.run(
            f"new Promise((done) => {{ const look = () => ({condition}) ? done() : requestAnimationFrame(look); look(); }})"
        )

    def picture(self, path, whole=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        self._session = None
        try:
            self.call("Browser.close")
        except (PageError, BrokenPipeError):
            self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
