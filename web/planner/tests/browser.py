#!/usr/bin/env python3
"""Opens dist/index.html in a headless Chromium (Debian: chromium, chromium-driver) and uses it as a person would.

  web/planner/tests/browser.py BIEF [--shots FOLDER]

BIEF is the command, with whose JSON that of the page is compared. Status 1 and what is wrong, if anything is: other JSON than that of
`bief plan --json`; an exact plan of 23 tasks that takes more than a millisecond; something on the console; a request to anywhere; a page
wider than a telephone; a control without a name; something that does not change when it should.
"""
import argparse
import base64
import contextlib
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

arguments = argparse.ArgumentParser()
arguments.add_argument("bief")
arguments.add_argument("--shots", type=pathlib.Path)
arguments = arguments.parse_args()
root = pathlib.Path(__file__).resolve().parents[3]
page = root / "web/planner/dist/index.html"
faults = []


def check(is_so, what):
    if not is_so:
        faults.append(what)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Browser:
    """A session of a browser, by the WebDriver protocol."""

    def __init__(self, port):
        self.port = port
        for _ in range(100):
            with contextlib.suppress(OSError):
                if self.ask("GET", "/status")["ready"]:
                    break
            time.sleep(0.1)
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,900"]
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": flags}, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self.session = "/session/" + self.ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        self.ask("POST", self.session + "/timeouts", {"script": 60000, "pageLoad": 30000})

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, {"Content-Type": "application/json"}, method=method)
        try:
            return json.load(urllib.request.urlopen(request, timeout=90))["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"].splitlines()[0]) from None

    def open(self, address):
        self.ask("POST", self.session + "/url", {"url": address})
        for _ in range(100):
            if self.script("return document.body.dataset.ready"):
                return
            time.sleep(0.05)
        faults.append("the page does not become ready: " + str(self.script("return document.getElementById('error').textContent")))

    def script(self, text, *values):
        return self.ask("POST", self.session + "/execute/sync", {"script": text, "args": list(values)})

    def devtools(self, command, **values):
        return self.ask("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": values})

    def log(self, kind):
        return self.ask("POST", self.session + "/se/log", {"type": kind})

    def set(self, element, value):
        """Sets a control as a person does: the page hears of it."""
        self.script("const e = document.getElementById(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('input', {bubbles: true}))",
                    element, str(value))

    def text(self, element):
        return self.script("return document.getElementById(arguments[0]).textContent", element)

    def shown(self, element):
        return self.script("const e = document.getElementById(arguments[0]); return !e.hidden && e.getClientRects().length > 0", element)

    def width(self, pixels, height=900):
        self.devtools("Emulation.setDeviceMetricsOverride", width=pixels, height=height, deviceScaleFactor=1, mobile=pixels < 600)

    def shot(self, name):
        if arguments.shots:
            arguments.shots.mkdir(parents=True, exist_ok=True)
            height = self.script("return document.documentElement.scrollHeight")
            wide = self.script("return innerWidth")
            self.width(wide, height)
            picture = self.ask("GET", self.session + "/screenshot")
            (arguments.shots / f"{name}.png").write_bytes(base64.b64decode(picture))


def command(profile, cores, goal, strategy):
    """What `bief plan --json` prints, or why it does not."""
    options = ["--cores", cores, "--strategy", strategy] + (["--goal", goal] if goal else [])
    done = subprocess.run([arguments.bief, "plan", profile, *options, "--json"], capture_output=True, text=True, check=False)
    return done.stdout.rstrip("\n") if done.returncode == 0 else None


def same_json(browser):
    """The page against the command: profiles, kinds, goals, strategies, and what neither can plan."""
    cases = []
    for name in ("orange_pi_5_plus", "mac_studio", "ai370", "x7_ti"):
        for cores in ("big=1,little=0", "big=2,little=3", "big=4,little=4", "big=0,little=5"):
            for goal in ("", "max-throughput", "fewest-cores,rate=10Mb/s", "fewest-big,period=3ms", "least-power,rate=10Mb/s",
                         "fewest-cores,latency=200ms", "fewest-big,rate=3000Mb/s"):
                cases.append((name, cores, goal, "exact"))
        for strategy in ("herad", "2catac", "fertac", "otac", "thread_per_task"):
            cases.append((name, "big=3,little=3", "", strategy))
            cases.append((name, "big=3,little=0", "", strategy))
    # Of one kind and of three, with costs of cuts, names that want care.
    own = root / "web/planner/dist/own.json"
    profiles = {
        "one": {"format": 1, "kinds": ["cpu"], "frames_per_execution": 2, "tasks": [{"name": "read", "replicable": False, "ns": [1000]},
                                                          {"name": "\"é\" <b>&", "replicable": True, "ns": [7001]},
                                                          {"name": "write", "replicable": False, "ns": [333]}]},
        "three": {"format": 1, "kinds": ["big", "medium", "little"], "frames_per_execution": 1, "sync_ns": [100, 150, 200], "tasks": [
            {"name": f"task {index}", "replicable": index % 3 != 0, "ns": [1000 + 37 * index, 1500 + 51 * index, 2900 + 7 * index]} for index in range(12)]},
    }
    for name, profile in profiles.items():
        kinds = profile["kinds"]
        for counts in ((4, 2, 1), (1, 1, 3), (7, 0, 2)):
            cores = ",".join(f"{kind}={count}" for kind, count in zip(kinds, counts))
            for strategy, goal in (("exact", ""), ("exact", "fewest-cores,period=9us"), ("thread_per_task", "")):
                cases.append((json.dumps(profile, ensure_ascii=False), cores, goal, strategy))
    compared = refused = 0
    for profile, cores, goal, strategy in cases:
        request = """
            const [name, cores, goal, strategy] = arguments, start = planner.ask({ask: 'start'});
            const shipped = start.shipped.find(s => s.name === name) || {profile: name, platform: ''};
            return planner.ask({ask: 'plan', profile: shipped.profile, platform: shipped.platform, cores, goal: goal || 'fewest-big', strategy})"""
        shown = browser.script(request, profile, cores, goal, strategy)
        if profile.startswith("{"):
            own.write_text(profile)
        printed = command(str(own) if profile.startswith("{") else profile, cores, goal, strategy)
        case = f"{profile[:40]} --cores {cores} --goal {goal or '-'} --strategy {strategy}"
        check((printed is None) == ("error" in shown), f"{case}: one of page and command refuses it: {shown.get('error')}")
        if printed is not None and "error" not in shown:
            check(shown["schedule"] == printed, f"{case}: other JSON than the command's")
            compared += 1
        else:
            refused += 1
    own.unlink()
    check(compared > 100 and refused > 5, f"{compared} plans compared, {refused} refused: too few")
    return compared, refused


def how_fast(browser):
    """Milliseconds that the page takes for the exact plan of 23 tasks on all cores, of each profile that ships: the median."""
    return browser.script("""
        const start = planner.ask({ask: 'start'}), all = {};
        for (const {name, profile, platform} of start.shipped) {
            const {cores, kinds} = planner.ask({ask: 'profile', profile, platform});
            const request = {ask: 'plan', profile, platform, cores: kinds.map((kind, i) => kind + '=' + cores[i]).join(','), goal: 'fewest-big', strategy: 'exact'};
            const times = [];
            for (let turn = 0; turn < 400; ++turn) {
                const begin = performance.now();
                planner.ask(request);
                times.push(performance.now() - begin);
            }
            times.sort((a, b) => a - b);
            all[name] = times[200];
        }
        return all""")


def a_person(browser):
    """What is seen changes with what is done, at once."""
    browser.set("shipped", "mac_studio")
    figures, stages = browser.text("figures"), browser.text("stages")
    check("Mb/s" in figures and " W" in figures and "big" in stages, f"no figures: {figures}")
    planned = command("mac_studio", "big=16,little=4", "", "exact")
    check(browser.text("json") == planned, "the JSON that is shown is another than the command's")
    front = len(json.loads(planned)["front"])
    check(front > 1 and browser.shown("front-part") and browser.script("return document.querySelectorAll('#front button').length") == front, "the front is not shown")
    before = browser.text("figures")
    browser.script("document.querySelector('#front button[aria-pressed=false]').click()")
    check(browser.text("figures") != before, "another choice of the front changes nothing")
    browser.set("slide-0", 2)
    browser.set("slide-1", 2)
    fewer = browser.text("figures")
    check(fewer != figures and browser.script("return document.getElementById('cores-0').value") == "2", "fewer cores change nothing")
    browser.set("cores-0", 3)
    check(browser.text("figures") != fewer and browser.script("return document.getElementById('slide-0').value") == "3", "a number that is written changes nothing")
    simulated = browser.text("sim")
    browser.set("spread", 60)
    check(browser.text("sim") != simulated and "longer than planned" in browser.text("sim"), "times that vary change nothing")
    browser.set("spread", 0)
    check("as planned" in browser.text("sim"), "constant times are not as planned: " + browser.text("sim"))
    browser.set("aim", "least-power")
    browser.set("rate", 30)
    check("any" not in browser.text("rate-out") and "watts" in browser.text("json"), "a goal changes nothing: " + browser.text("error"))
    rate = browser.text("rate-out").replace(" ", "")
    check(browser.text("json") == command("mac_studio", "big=3,little=2", f"least-power,rate={rate}", "exact"), "the JSON of a goal is another than the command's")
    browser.set("latency", "nonsense")
    check(browser.shown("error") and "latency=nonsense" in browser.text("error"), "what cannot be is not told")
    browser.set("latency", "")
    check(not browser.shown("error"), "the error does not go away")
    browser.set("rate", 0)
    browser.set("aim", "fewest-big")
    browser.set("strategy", "thread_per_task")
    check("share" in browser.text("limit") or "simulation gives each thread" in browser.text("sim"), "threads that share cores are not told")
    browser.set("strategy", "exact")
    # A profile of one's own: of one kind, with a name that would be a tag.
    browser.set("shipped", "own")
    check(browser.shown("error") and "Paste a profile" in browser.text("error"), "nobody says that a profile is to be pasted")
    browser.set("profile", "{")
    check(browser.shown("error"), "a broken profile is not told")
    browser.set("profile", json.dumps({"format": 1, "kinds": ["cpu"], "frames_per_execution": 2, "tasks": [{"name": "<img src=x onerror=alert(1)>", "replicable": True, "ns": [5000]},
                                                                                  {"name": "write", "replicable": False, "ns": [900]}]}))
    check(not browser.shown("error") and "<img src=x" in browser.text("stages"), "a pasted profile is not planned: " + browser.text("error"))
    check(browser.script("return document.querySelectorAll('#result img').length") == 0, "a name of a task becomes a tag")
    check("unknown" in browser.text("figures"), "watts that nobody knows are told")
    browser.set("cores-0", -1)
    check(browser.shown("error"), "less than no cores are taken")
    browser.set("cores-0", 16000)
    check(not browser.shown("error"), "many cores are refused: " + browser.text("error"))
    browser.set("shipped", "ai370")


def the_keyboard(browser):
    """Every control has a name, can be reached and seen with the keyboard alone."""
    nameless = browser.script("""
        return [...document.querySelectorAll('input, select, textarea, button')].filter(e => e.getClientRects().length)
            .filter(e => !(e.getAttribute('aria-label') || (e.labels && e.labels.length) || e.textContent.trim())).map(e => e.id)""")
    check(not nameless, f"controls without a name: {nameless}")
    reached = set()
    browser.script("document.activeElement.blur(); window.scrollTo(0, 0)")
    for _ in range(60):
        browser.devtools("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
        browser.devtools("Input.dispatchKeyEvent", type="keyUp", key="Tab", code="Tab", windowsVirtualKeyCode=9)
        reached.add(browser.script("return document.activeElement.id || document.activeElement.tagName"))
    for control in ("shipped", "slide-0", "cores-1", "aim", "rate", "strategy", "spread", "depth", "SUMMARY", "BUTTON"):
        check(control in reached, f"the keyboard does not reach {control}: {sorted(reached)}")
    browser.script("document.getElementById('slide-0').focus()")
    before = browser.text("figures")
    for _ in range(5):
        browser.devtools("Input.dispatchKeyEvent", type="keyDown", key="ArrowLeft", code="ArrowLeft", windowsVirtualKeyCode=37)
        browser.devtools("Input.dispatchKeyEvent", type="keyUp", key="ArrowLeft", code="ArrowLeft", windowsVirtualKeyCode=37)
    check(browser.text("figures") != before, "arrow keys do not move a slider")


def sizes(browser):
    """No page is wider than what it is seen on."""
    for scheme in ("light", "dark"):
        browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        for name, pixels in (("telephone", 360), ("tablet", 768), ("desktop", 1280)):
            browser.width(pixels)
            browser.script("document.querySelector('#json-part').open = true")
            wide = browser.script("return document.documentElement.scrollWidth")
            check(wide <= pixels, f"{name}: the page is {wide} pixels wide on {pixels}")
            browser.script("document.querySelector('#json-part').open = false")
            browser.shot(f"{name}-{scheme}")


def main():
    if not page.is_file():
        sys.exit("there is no dist/index.html: run web/planner/build")
    for program in (arguments.bief, "chromedriver"):
        if not shutil.which(program):
            sys.exit(f"there is no {program}: see --help")
    check(page.stat().st_size <= 400_000, f"the page has {page.stat().st_size} bytes, more than 400000")
    port = free_port()
    driver = subprocess.Popen(["chromedriver", f"--port={port}", "--log-level=OFF"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    browser = None
    try:
        browser = Browser(port)
        browser.open(page.as_uri())
        a_person(browser)
        the_keyboard(browser)
        sizes(browser)
        browser.width(1200)
        compared, refused = same_json(browser)
        times = how_fast(browser)
        check(max(times.values()) <= 1.0, f"an exact plan of 23 tasks takes more than 1 ms: {times}")
        said = [entry["message"] for entry in browser.log("browser")]
        check(not said, f"on the console: {said}")
        requests = [json.loads(entry["message"])["message"] for entry in browser.log("performance")]
        foreign = [event["params"]["request"]["url"] for event in requests if event["method"] == "Network.requestWillBeSent"]
        foreign = [address[:80] for address in foreign if not address.startswith(("file:", "data:"))]
        check(not foreign, f"requests to {foreign}")
        shown = ", ".join(f"{name} {value:.3f}" for name, value in times.items())
        print(f"{compared} plans as the command's, {refused} refused by both; milliseconds for an exact plan: {shown}")
    finally:
        if browser:
            with contextlib.suppress(Exception):
                browser.ask("DELETE", browser.session)
        driver.terminate()
        driver.wait()
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


sys.exit(main())
