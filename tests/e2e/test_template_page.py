"""The form of a template in a real browser: two languages, faults beside their fields, and a job that runs."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, async_playwright

from trainyard.client.sdk import Yard
from trainyard.common.lifecycle.states import State
from trainyard.common.testing.yard import YardProcess

pytestmark = pytest.mark.e2e
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest_asyncio.fixture
async def page() -> AsyncIterator[Page]:
    if CHROMIUM is None:
        pytest.skip("no Chromium here: apt install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        made = await browser.new_page(locale="en-GB")
        made.set_default_timeout(30_000)
        yield made
        await browser.close()


async def test_filled_in_corrected_and_run(page: Page, yard: YardProcess, gateway: Yard) -> None:
    faults: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    origin = f"http://127.0.0.1:{yard.port('monitor')}"
    await page.goto(origin)
    await page.locator("header a", has_text="Templates").click()
    await page.locator("#template-command").click()
    await page.locator("#title", has_text="Any command").wait_for()
    await page.locator("#field-command").fill("echo 'one  two'")
    await page.locator("#field-processes").fill("0")
    await page.locator("button[type=submit]").click()
    await page.locator("#error-processes", has_text="'0' is too small").wait_for()
    assert await page.locator("#field-processes").get_attribute("aria-invalid") == "true"
    assert await page.locator("#error-command").text_content() == ""

    await page.locator("#language").select_option("zh")
    await page.locator("#title", has_text="任意命令").wait_for()
    assert await page.locator("label[for=field-command]").text_content() == "命令"
    assert await page.locator("html").get_attribute("lang") == "zh"
    assert await page.locator("#field-command").input_value() == "echo 'one  two'", "what was filled in stays"
    assert "'0' is too small" in (await page.locator("#error-processes").text_content() or ""), "so does what is wrong"
    assert await page.locator("#faults").text_content() == "未启动：请查看上方字段。"

    await page.locator("#field-processes").fill("2")
    await page.locator("#look").click()
    await page.locator("#job", has_text='"processes": 2').wait_for()
    await page.locator("button[type=submit]").click()
    started = page.locator("#started a")
    await started.wait_for()
    assert await page.locator(".error").all_text_contents() == [""] * await page.locator(".error").count()
    job = gateway.wait(str(await started.text_content()), timeout=60)
    assert job.state is State.SUCCEEDED
    assert (job.spec["command"], job.labels["template"]) == (["echo", "one  two"], "command")
    assert faults == []
    assert all(url.startswith((origin, "data:")) for url in asked)


async def test_it_fits_a_phone(page: Page, yard: YardProcess) -> None:
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.goto(f"http://127.0.0.1:{yard.port('monitor')}/templates#deepspeed-zero")
    await page.locator("#field-epochs").wait_for()
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360
    await page.locator("#more summary").click()
    assert await page.locator("#field-offload").is_checked() is False
    await page.goto(f"http://127.0.0.1:{yard.port('monitor')}/templates#nothing")
    await page.reload()
    await page.locator("#notice", has_text="there is no template 'nothing'").wait_for()
