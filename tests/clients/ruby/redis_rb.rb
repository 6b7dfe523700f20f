# redis-rb. A bridge: see ../python/bridge.py.
require 'json'
require 'redis'

options = JSON.parse(ARGV.last, symbolize_names: true)

def tell(value)
  puts JSON.generate(value)
  $stdout.flush
end

def failure(error)
  { error: error.message }
end

# The public pipeline of redis-rb 4 raises the first error, and the other replies are lost with it.
verbs = {
  'call' => ->(redis, words) { redis.call(*words) },
  'pipeline' => ->(redis, commands) { redis.pipelined { |batch| commands.each { |words| batch.call(*words) } } },
  'transaction' => ->(redis, commands) { redis.multi { |batch| commands.each { |words| batch.call(*words) } } },
  'scan' => ->(redis, pattern) { redis.scan_each(match: pattern).to_a },
  'listen' => lambda do |redis, channel|
    heard = nil
    redis.subscribe(channel) do |on|
      on.message do |from, payload|
        redis.unsubscribe(channel) if heard.nil?
        heard ||= [from, payload]
      end
    end
    heard
  end,
  'method' => ->(redis, name, *arguments) { redis.public_send(name, *arguments) }
}

begin
  redis = Redis.new(
    host: options[:host], port: options[:port], username: options[:user], password: options[:password],
    db: options[:database] || 0, id: options[:name], timeout: 15
  )
  redis.ping unless options[:password].nil?
rescue Redis::BaseError => e
  tell failure(e)
  exit
end

tell({ client: "redis-rb #{Redis::VERSION}", resends: true, renames: true, more: ['method'] })
$stdin.each_line do |line|
  verb, *arguments = JSON.parse(line)
  begin
    tell verbs.fetch(verb).call(redis, *arguments)
  rescue Redis::BaseError => e
    tell failure(e)
  end
end
redis.quit
