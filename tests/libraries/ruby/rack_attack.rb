# frozen_string_literal: true

# Rack::Attack over redis-rb, in a Rack application that is called directly.
require 'json'
require 'rack'
require 'redis'
require 'rack/attack'
require 'rack/mock'

PORT = Integer(ENV.fetch('SUITE_PORT'))
PERIOD_S = 10_000_000 # windows are cut by the clock: long enough that none ends during the suite
ADMIN = Redis.new(host: '127.0.0.1', port: PORT)

def about(seconds) = { about_ms: (seconds * 1000).round }

def equal(seen, wanted, what)
  raise "#{what}: #{seen.inspect}, not #{wanted.inspect}" unless seen == wanted
end

def keys(begins)
  ADMIN.scan_each(match: "#{begins}*").to_a.uniq.sort.map { |key| [key, about(ADMIN.pttl(key) / 1000.0)] }
end

def check(name)
  puts JSON.generate(check: name, value: yield)
rescue StandardError => e
  puts JSON.generate(check: name, error: "#{e.class}: #{e.message}")
end

Rack::Attack.cache.store = Redis.new(host: '127.0.0.1', port: PORT)
Rack::Attack.throttled_responder = lambda do |request|
  match = request.env['rack.attack.match_data']
  [429, {}, [JSON.generate(match.slice(:count, :limit, :period))]]
end
APP = Rack::MockRequest.new(Rack::Attack.new(->(_) { [200, {}, ['yes']] }))

def get(path, address = '10.0.0.1')
  response = APP.get(path, 'REMOTE_ADDR' => address)
  [response.status, response.body]
end

check('throttle: a limit a period') do
  Rack::Attack.throttle('ip', limit: 3, period: PERIOD_S) { |request| request.ip if request.path == '/limited' }
  told = Array.new(5) { get('/limited') }
  equal(told.map(&:first), [200, 200, 200, 429, 429], 'status')
  told + [get('/limited', '10.0.0.2'), get('/free'), keys('rack::attack')]
end

check('throttle: the count can be taken back') do
  Rack::Attack.cache.reset_count('ip:10.0.0.1', PERIOD_S)
  get('/limited')
end

check('fail2ban bans after so many tries') do
  Rack::Attack.blocklist('fail2ban') do |request|
    Rack::Attack::Fail2Ban.filter("pentest:#{request.ip}", maxretry: 2, findtime: PERIOD_S, bantime: PERIOD_S) { request.path == '/bad' }
  end
  told = Array.new(3) { get('/bad', '10.0.0.3') } + [get('/good', '10.0.0.3'), get('/good', '10.0.0.4'), keys('rack::attack:fail2ban')]
  Rack::Attack::Fail2Ban.reset('pentest:10.0.0.3', findtime: PERIOD_S)
  told << get('/good', '10.0.0.3')
end

check('allow2ban lets so many through and then bans') do
  Rack::Attack.blocklist('allow2ban') do |request|
    Rack::Attack::Allow2Ban.filter(request.ip, maxretry: 2, findtime: PERIOD_S, bantime: PERIOD_S) { request.path == '/login' }
  end
  Array.new(4) { get('/login', '10.0.0.5') }
end

check('reset! takes all away') do
  Rack::Attack.reset!
  equal(keys('rack::attack'), [], 'keys')
  get('/limited')
end
