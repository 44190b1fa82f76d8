"""A headless Chromium, driven through its own pipe: nothing but Python's standard library.

  with Browser() as browser:
      page = browser.open("/tmp/page.html", width=1400, height=900)
      page.evaluate("document.title")
      page.screenshot("/tmp/page.png")

Messages are JSON with a zero byte at the end, written to descriptor 3 of the browser and read from
its descriptor 4. Errors that the page throws are collected in `page.errors`.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--remote-debugging-pipe")


def find_browser():
    """The browser's path, or None."""
    named = os.environ.get("GRAPHTREE_BROWSER")
    if named:
        return named
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self):
        self.path = find_browser()
        self.profile = tempfile.mkdtemp(prefix="graphtree-browser-")
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()
        words = " ".join(FLAGS)
        command = (f'exec "{self.path}" {words} --user-data-dir="{self.profile}" about:blank '
                   f"3<&{to_read} 4>&{to_write}")
        environment = dict(os.environ, HOME=self.profile)
        self.process = subprocess.Popen(
            ["bash", "-c", command], pass_fds=(to_read, to_write), env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.buffer = b""
        self.next_id = 0
        self.listeners = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Ends the browser and removes what it wrote."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, deadline):
        """The next message; raises TimeoutError at the deadline."""
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.from_browser], [], [], left)[0]:
                raise TimeoutError("the browser did not answer in time")
            data = os.read(self.from_browser, 1 << 20)
            if not data:
                raise ConnectionError("the browser ended")
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, parameters=None, session=None, timeout=120):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to_browser, data):]
        deadline = time.monotonic() + timeout
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == message["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            for listener in self.listeners:
                listener(answer)

    def open(self, path, width=1400, height=900, ratio=1, dark=False, phone=False):
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        page = Page(self, target, session["sessionId"])
        page.prepare(width, height, ratio, dark, phone)
        page.go("file://" + os.path.abspath(path))
        return page


class Page:
    def __init__(self, browser, target, session):
        self.browser = browser
        self.target = target
        self.session = session
        self.errors = []
        self.requests = []
        self.at_rest = "true"  # an expression that becomes true when nothing more will be drawn
        browser.listeners.append(self.hear)

    def hear(self, message):
        if message.get("sessionId") != self.session:
            return
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.errors.append(" ".join(str(a.get("value")) for a in parameters["args"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def call(self, method, **parameters):
        return self.browser.call(method, parameters, self.session)

    def close(self):
        self.browser.listeners.remove(self.hear)
        self.browser.call("Target.closeTarget", {"targetId": self.target})

    def prepare(self, width, height, ratio, dark, phone):
        for domain in ("Page", "Runtime", "Network"):
            self.call(domain + ".enable")
        self.call("Performance.enable", timeDomain="threadTicks")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=ratio, mobile=phone)
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def go(self, url):
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def evaluate(self, expression):
        """The value of a JavaScript expression; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def busy_seconds(self):
        """Processor time that the page's main thread has taken so far."""
        metrics = self.call("Performance.getMetrics")["metrics"]
        return next(m["value"] for m in metrics if m["name"] == "TaskDuration")

    def wait_for(self, expression, seconds=60):
        deadline = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never became true: {expression}")
            time.sleep(0.02)

    def settle(self):
        """Waits for two frames, so that what was asked for has been drawn, and for the page to
        come to rest: on a busy machine it first draws a coarse picture."""
        self.evaluate(f"""new Promise(done => {{
            const look = () => ({self.at_rest}) ? done() : requestAnimationFrame(look);
            requestAnimationFrame(() => requestAnimationFrame(look));
        }})""")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def move(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.settle()

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)
        self.settle()

    def wheel(self, x, y, delta, modifiers=0):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta, modifiers=modifiers)
        self.settle()

    def drag(self, points):
        x, y = points[0]
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        for x, y in points[1:]:
            self.mouse("mouseMoved", x, y, button="left", buttons=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.settle()

    def touch(self, kind, *points):
        self.call("Input.dispatchTouchEvent", type=kind,
                  touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])

    def tap(self, x, y):
        self.touch("touchStart", (x, y))
        self.touch("touchEnd")
        self.settle()

    def key(self, key):
        text = key if len(key) == 1 else ""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=text)
        self.settle()

    def screenshot(self, path, whole=False):
        options = {"format": "png", "captureBeyondViewport": whole}
        data = self.call("Page.captureScreenshot", **options)["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))
