// The page in a real browser: what it shows agrees with what was sent, it can be used by keyboard and on a phone, and
// nothing that clients send becomes a part of it.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { Server, Wire } from './wire.mjs';

const directory = process.argv[2];
const HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
let passed = 0, failed = 0;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });

/** An open page, and what went wrong on it. */
async function open(server, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.wrong = [];
  page.on('console', message => message.type() === 'error' && page.wrong.push(message.text()));
  page.on('pageerror', error => page.wrong.push(error.message));
  page.on('request', request => request.url().startsWith(server.url) || request.url().startsWith('data:') || page.wrong.push(`it asked for ${request.url()}`));
  page.answer = await page.goto(server.url);
  return page;
}

/** Waits until a text on the page is the one that is wanted. */
async function text(page, selector, wanted) {
  const seen = () => page.locator(selector).first().textContent();
  const holds = value => (wanted instanceof RegExp ? wanted.test(value) : value === wanted);
  const end = performance.now() + 20_000;
  for (let value; ; ) {
    value = await seen();
    if (holds(value)) return value;
    assert.ok(performance.now() < end, `${selector} is ${JSON.stringify(value)} and not ${wanted}`);
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
}

const row = name => `#hot tr:has(td.name button:text-is(${JSON.stringify(name)}))`;

async function test(name, run) {
  try {
    await run();
    passed++;
    console.log(`ok   ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}\n     ${String(error.stack).replaceAll('\n', '\n     ')}`);
  }
}

/** The status of a request that the page's own script makes. */
const post = (page, body, headers) =>
  page.evaluate(async ([body, headers]) => {
    const answer = await fetch('/action', { method: 'POST', body: JSON.stringify(body), headers });
    return [answer.status, await answer.json()];
  }, [body, headers]);

const server = await Server.start(`${directory}/server`, '--ui-actions');
const wire = new Wire(server.port);
const page = await open(server);

await test('it is there, and says so', async () => {
  assert.equal(page.answer.status(), 200);
  assert.equal(await page.title(), 'Tollgate');
  await text(page, '#live', 'live');
  await text(page, '#version', /^\d+\.\d+\.\d+$/);
  await text(page, '#cool', /No key was called/);
  const policy = page.answer.headers()['content-security-policy'];
  assert.match(policy, /^default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe/);
});

await test('everything that can be used has a name', async () => {
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll('button, input, select')].filter(node => !(node.textContent.trim() || node.labels?.length || node.ariaLabel)).map(node => node.outerHTML));
  assert.deepEqual(nameless, ['<button id="yes" type="button"></button>']);
});

await test('numbers move as calls come', async () => {
  const numbers = new Set();
  const all = /^[1-9]/;
  for (let look = 0; numbers.size < 3; look++) {
    assert.ok(look < 400, `saw ${[...numbers]}`);
    await Promise.all(Array.from({ length: 10 }, () => wire.send('RL.TAKE', 'busy', 1_000_000, '1/h')));
    await Promise.all(Array.from({ length: 4 }, () => wire.send('RL.TAKE', 'tight', 1, '1/h')));
    numbers.add(await page.locator('#granted').textContent());
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  assert.ok([...numbers].some(number => all.test(number)));
  const drawn = await page.evaluate(() => {
    const canvas = document.getElementById('chart');
    return new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
  });
  assert.ok(drawn > 10, `${drawn} colours on the chart`);
});

await test('the hottest keys are counted to the call', async () => {
  for (let call = 0; call < 37; call++) await wire.send('RL.TAKE', 'counted', 25, '1/h');
  await text(page, `${row('counted')} td:nth-child(5)`, '25');
  await text(page, `${row('counted')} td:nth-child(6)`, '12');
  await text(page, `${row('counted')} .limit`, '25 at 1/h');
  await text(page, `${row('counted')} .balance span:last-child`, '0 / 25');
  // The line has whole seconds only, so it comes after the count.
  await page.locator(`${row('counted')} .spark .d[d*="M"]`).waitFor({ state: 'attached' });
});

await test('they can be put in another order', async () => {
  await page.getByLabel('Denied', { exact: true }).check();
  await page.mouse.move(5, 5);
  await text(page, '#hot tr:first-child button', 'tight');
  assert.equal(await page.locator(row('busy')).count(), 0);
  await page.getByLabel('Busiest').check();
  await text(page, '#hot tr:first-child button', 'busy');
});

await test('a pause counts down', async () => {
  await wire.send('RL.PAUSE', 'counted', '90s');
  const first = await text(page, `${row('counted')} .tag`, /^paused 1:/);
  const again = await text(page, `${row('counted')} .tag`, new RegExp(`^paused (?!${first.slice(7)}$)`));
  assert.ok(again < first, `${first}, then ${again}`);
});

await test('those who wait are shown', async () => {
  const waiters = [1, 2, 3].map(() => new Wire(server.port));
  for (const waiter of waiters) waiter.send('RL.ACQUIRE', 'line', 1, '1/h', '9h');
  await text(page, '#waiting', '2');
  await text(page, '#waited', /^line2Clients\d/);
  waiters.forEach(waiter => waiter.end());
  await text(page, '#waiting', '0');
});

await test('memory, keys and the disk are shown', async () => {
  await text(page, '#used', /^\d+ MB$/);
  await text(page, '#kinds', /bucket\d+/);
  await text(page, '#disk', /behind$/);
});

await test('a key is found by its name', async () => {
  await wire.send('RL.TAKE', 'found', 10, '1/m', 'COST', 4);
  await page.fill('#key', 'found');
  await page.getByRole('button', { name: 'Show' }).click();
  await text(page, '#name', 'found');
  await text(page, '#usage', /left6 of 10/);
  await wire.send('RL.TAKE', 'found', 10, '1/m', 'COST', 2);
  await text(page, '#usage', /left4 of 10/);
  await page.fill('#key', 'nobody knows it');
  await page.press('#key', 'Enter');
  await text(page, '#nothing', /^No state/);
  await wire.send('SELECT', 3);
  await wire.send('RL.TAKE', 'elsewhere', 7, '1/h');
  await wire.send('SELECT', 0);
  await page.fill('#key', 'elsewhere');
  await page.selectOption('#db', '3');
  await page.press('#key', 'Enter');
  await text(page, '#name', 'elsewhere (db 3)');
  await text(page, '#usage', /left6 of 7/);
  await page.selectOption('#db', '0');
});

await test('what a client sends stays a text', async () => {
  for (let call = 0; call < 3; call++) await wire.send('RL.TAKE', HOSTILE, 2, '1/h');
  await wire.send('RL.TAKE', Buffer.from([0xff, 0x0a, 0x3c]), 2, '1/h');
  await page.locator(row(HOSTILE)).locator('button').click();
  await text(page, '#name', HOSTILE);
  await text(page, '#usage', /left0 of 2/);
  await page.locator(row('\\xff\\n<')).locator('button').click();
  await text(page, '#usage', /left1 of 2/);
  await page.press('#key', 'Enter');
  assert.equal(await page.evaluate(() => looked.id), '%FF%0A%3C');
  await wire.send('RL.TAKE', '\\xff\\n<', 5, '1/h');
  await page.locator(row('\\\\xff\\\\n<')).locator('button').click();
  await text(page, '#usage', /left4 of 5/);
  assert.equal(await page.evaluate(() => document.querySelectorAll('img').length + document.querySelectorAll('script').length), 1);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
});

await test('a key is paused, resumed and reset, after a question', async () => {
  await wire.send('RL.TAKE', 'acted', 5, '1/h');
  await page.fill('#key', 'acted');
  await page.press('#key', 'Enter');
  const usage = async () => Object.fromEntries((await wire.send('RL.USAGE', 'acted') ?? []).reduce((pairs, item, at, all) => (at % 2 ? pairs : [...pairs, [item, all[at + 1]]]), []));
  await page.fill('#for', '45s');
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await text(page, '#sure-text', 'Whoever calls acted is refused or waits, for 45s.');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'no');
  await page.getByRole('button', { name: 'Leave it' }).click();
  assert.equal((await usage()).paused_ms, 0);
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await page.locator('#yes').click();
  await text(page, '#said', 'paused for 45 s');
  assert.ok((await usage()).paused_ms > 40_000);
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.locator('#yes').click();
  await text(page, '#said', 'resumed');
  assert.equal((await usage()).paused_ms, 0);
  await page.getByRole('button', { name: 'Reset' }).click();
  await page.locator('#yes').click();
  await text(page, '#said', 'reset');
  await text(page, '#nothing', /^No state/);
  assert.deepEqual(await usage(), {});
  await page.fill('#for', 'soon');
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await page.locator('#yes').click();
  await text(page, '#said', /^ERR duration/);
});

await test('all of it goes by keyboard', async () => {
  await wire.send('RL.TAKE', 'typed', 5, '1/h');
  const page = await open(server);
  await text(page, '#live', 'live');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'key');
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, 'solid');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('typed');
  await page.keyboard.press('Enter');
  await text(page, '#usage', /left4 of 5/);
  const focused = () => page.evaluate(() => document.activeElement.dataset.do ?? document.activeElement.id);
  for (const next of ['close', 'for', 'pause']) {
    await page.keyboard.press('Tab');
    assert.equal(await focused(), next);
  }
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('20s');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  assert.equal(await focused(), 'no');
  await page.keyboard.press('Escape');
  assert.equal(await focused(), 'pause');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await text(page, '#said', 'paused for 20 s');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Escape');
  assert.equal(await focused(), 'key');
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

await test('nothing was wrong on it', async () => {
  // The browser tells of the action that was refused.
  assert.deepEqual(page.wrong, ['Failed to load resource: the server responded with a status of 409 (Conflict)']);
});

await test('only its own page may act', async () => {
  const pause = { do: 'pause', db: 0, key: 'forged', for: '10s' };
  const own = { 'X-Tollgate-Action': '1' };
  assert.deepEqual(await post(page, pause, {}), [403, { error: "this is not the server's own page" }]);
  assert.deepEqual(await post(page, { ...pause, key: '%' }, own).then(([status]) => status), 400);
  assert.deepEqual(await post(page, { ...pause, key: 'x'.repeat(5000) }, own).then(([status]) => status), 400);
  for (const headers of [{ ...own, Origin: 'http://evil.example' }, { ...own, 'Sec-Fetch-Site': 'cross-site' }]) {
    const answer = await fetch(`${server.url}/action`, { method: 'POST', body: JSON.stringify(pause), headers });
    assert.equal(answer.status, 403);
  }
  // A page of another origin in the same browser.
  const other = await Server.start(`${directory}/other`);
  const stranger = await open(other);
  const tried = await stranger.evaluate(async ([url, pause]) => {
    const tries = [{ 'X-Tollgate-Action': '1' }, {}].map(headers => fetch(url, { method: 'POST', mode: 'no-cors', body: JSON.stringify(pause), headers }));
    return (await Promise.allSettled(tries)).map(result => result.status);
  }, [`${server.url}/action`, pause]);
  assert.deepEqual(tried, ['rejected', 'rejected']);
  assert.equal(await wire.send('RL.USAGE', 'forged'), null);
  await stranger.context().close();
  other.stop();
});

await test('without --ui-actions it only shows', async () => {
  const quiet = await Server.start(`${directory}/quiet`);
  const own = new Wire(quiet.port), shown = await open(quiet);
  await own.send('RL.TAKE', 'k', 5, '1/h');
  await text(shown, '#live', 'live');
  await shown.fill('#key', 'k');
  await shown.press('#key', 'Enter');
  await text(shown, '#usage', /left4 of 5/);
  assert.equal(await shown.locator('#actions').isVisible(), false);
  const [status, said] = await post(shown, { do: 'reset', db: 0, key: 'k' }, { 'X-Tollgate-Action': '1' });
  assert.deepEqual([status, said.error], [403, 'the server was started without --ui-actions']);
  assert.equal(await own.send('EXISTS', 'k'), 1);
  // The browser tells of an answer that is an error.
  assert.deepEqual(shown.wrong.filter(line => !line.includes('403')), []);
  own.end();
  await shown.context().close();
  quiet.stop();
});

await test('a password is asked for, and users see their own keys', async () => {
  const locked = await Server.start(`${directory}/locked`, '--ui-actions', '--requirepass', 's3cret');
  const own = new Wire(locked.port);
  await own.send('AUTH', 's3cret');
  await own.send('ACL', 'SETUSER', 'seven', 'on', '>pw', '~seven:*', '+info', '+rl.top', '+rl.usage', '+rl.history', '+select');
  for (const key of ['seven:a', 'eight:a']) await own.send('RL.TAKE', key, 5, '1/h');
  const nobody = await fetch(locked.url);
  assert.equal(nobody.status, 401);
  assert.match(nobody.headers.get('www-authenticate'), /^Basic realm=/);
  const admin = await open(locked, { httpCredentials: { username: 'default', password: 's3cret' } });
  await text(admin, '#live', 'live');
  await text(admin, `${row('eight:a')} td:nth-child(5)`, '1');
  const seven = await open(locked, { httpCredentials: { username: 'seven', password: 'pw' } });
  await text(seven, `${row('seven:a')} td:nth-child(5)`, '1');
  assert.equal(await seven.locator(row('eight:a')).count(), 0);
  await seven.fill('#key', 'eight:a');
  await seven.press('#key', 'Enter');
  await text(seven, '#nothing', 'this user may not see that key');
  await seven.fill('#key', 'seven:a');
  await seven.press('#key', 'Enter');
  await text(seven, '#usage', /left4 of 5/);
  await seven.getByRole('button', { name: 'Reset' }).click();
  await seven.locator('#yes').click();
  await text(seven, '#said', /^NOPERM/);
  await own.send('ACL', 'DELUSER', 'seven');
  await text(seven, '#live', /^no answer/);
  own.end();
  for (const one of [admin, seven]) await one.context().close();
  locked.stop();
});

await test('as many pages are told as have a place', async () => {
  await text(page, '#live', 'live');
  const told = [];
  for (let pageNumber = 0; pageNumber < 12; pageNumber++) {
    const stop = new AbortController();
    const answer = await fetch(`${server.url}/events`, { signal: stop.signal });
    told.push([answer.status, stop]);
  }
  // One place is the open page's.
  assert.deepEqual(told.map(([status]) => status), [...Array(7).fill(200), ...Array(5).fill(503)]);
  told.forEach(([, stop]) => stop.abort());
  for (let answer; answer?.status !== 200; ) {
    const stop = new AbortController();
    answer = await fetch(`${server.url}/events`, { signal: stop.signal });
    stop.abort();
  }
});

await test('it finds the server again', async () => {
  server.stop();
  await text(page, '#live', /^no answer/);
  server.restart();
  await text(page, '#live', 'live');
});

await test('it fits a phone, in light and dark', async () => {
  const again = new Wire(server.port);
  for (const key of ['rl:meta:123', HOSTILE, `long:${'x'.repeat(200)}`]) await again.send('RL.TAKE', key, 80, '1/h');
  for (const [name, width, colorScheme] of [['desktop', 1280, 'light'], ['desktop-dark', 1280, 'dark'], ['phone', 360, 'light'], ['phone-dark', 360, 'dark']]) {
    const shown = await open(server, { viewport: { width, height: 800 }, colorScheme, deviceScaleFactor: 2, isMobile: width < 500 });
    await text(shown, `${row('rl:meta:123')} td:nth-child(5)`, '1');
    await shown.fill('#key', 'rl:meta:123');
    await shown.press('#key', 'Enter');
    await text(shown, '#usage', /left\d+ of 80/);
    assert.ok(await shown.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} is wider than its screen`);
    const brightness = await shown.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3);
    assert.ok(colorScheme === 'dark' ? brightness < 60 : brightness > 200, `${name}: ${brightness}`);
    await shown.screenshot({ path: `${directory}/${name}.png`, fullPage: true });
    assert.deepEqual(shown.wrong, []);
    await shown.context().close();
  }
  again.end();
});

wire.end();
await browser.close();
server.stop();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
