// Redis's protocol, as far as the tests of the page need it, and servers to speak it to.
import { execFileSync } from 'node:child_process';
import net from 'node:net';

/** A connection on which requests are answered in turn. */
export class Wire {
  constructor(port) {
    this.socket = net.connect(port, '127.0.0.1');
    this.waiting = [];
    this.buffer = Buffer.alloc(0);
    this.socket.on('data', data => {
      this.buffer = Buffer.concat([this.buffer, data]);
      for (let read; this.waiting.length && (read = parse(this.buffer, 0)); ) {
        this.buffer = this.buffer.subarray(read[1]);
        this.waiting.shift()(read[0]);
      }
    });
    this.socket.on('error', () => {});
  }

  send(...words) {
    const parts = words.map(word => (Buffer.isBuffer(word) ? word : Buffer.from(String(word))));
    this.socket.write(`*${parts.length}\r\n`);
    for (const part of parts) this.socket.write(Buffer.concat([Buffer.from(`$${part.length}\r\n`), part, Buffer.from('\r\n')]));
    return new Promise(done => this.waiting.push(done));
  }

  end() {
    this.socket.destroy();
  }
}

/** A reply and where the next begins; null if it is not there as a whole. */
function parse(bytes, at) {
  const end = bytes.indexOf('\r\n', at);
  if (end < 0) return null;
  const kind = String.fromCharCode(bytes[at]), text = bytes.toString('utf8', at + 1, end), next = end + 2;
  if (kind === '+') return [text, next];
  if (kind === '-') return [new Error(text), next];
  if (kind === ':') return [Number(text), next];
  const length = Number(text);
  if (length < 0) return [null, next];
  if (kind === '$') return bytes.length < next + length + 2 ? null : [bytes.toString('utf8', next, next + length), next + length + 2];
  const items = [];
  let place = next;
  for (let i = 0; i < length; i++) {
    const read = parse(bytes, place);
    if (!read) return null;
    items.push(read[0]);
    place = read[1];
  }
  return [items, place];
}

function freePort() {
  return new Promise(done => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** A server with its page. */
export class Server {
  static async start(directory, ...flags) {
    const server = new Server();
    server.directory = directory;
    server.page = await freePort();
    server.url = `http://127.0.0.1:${server.page}`;
    const bind = ['--metrics-bind', `127.0.0.1:${server.page}`];
    server.port = Number(Server.script('start', process.env.TOLLGATE_BINARY, directory, ...bind, ...flags));
    return server;
  }

  static script(...words) {
    return execFileSync(process.env.TOLLGATE_SERVER, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
  }

  stop() {
    Server.script('stop', this.directory);
  }

  restart() {
    Server.script('restart', this.directory);
  }
}
