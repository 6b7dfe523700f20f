# Redis.pm. A bridge: see ../python/bridge.py.
use strict;
use warnings;
use JSON::PP;
use Redis;

$| = 1;
my $json    = JSON::PP->new->utf8->allow_nonref;
my $options = $json->decode($ARGV[-1]);

sub tell_line { print $json->encode($_[0]), "\n" }

# The server's words, without the command before them and the place in the program behind.
sub failure {
    my ($text) = @_;
    $text =~ s/^.*\[[\w.]+\] //;
    $text =~ s/, +at \S+ line \d+\.?\s*$//;
    return { error => $text };
}

# Integers and texts are both scalars: what looks like an integer is told as one.
sub typed {
    my ($reply) = @_;
    return [ map { typed($_) } @$reply ] if ref $reply eq 'ARRAY';
    return defined $reply && $reply =~ /^-?(?:0|[1-9]\d{0,17})$/ ? 0 + $reply : $reply;
}

# A command as a method of its name, with a function for its reply: then it is only sent.
sub enqueue {
    my ($redis, $replies, $words) = @_;
    my ($name, @rest) = @$words;
    $redis->$name(@rest, sub { my ($reply, $error) = @_; push @$replies, defined $error ? failure($error) : typed($reply) });
}

my %verbs = (
    call => sub {
        my ($redis, $words) = @_;
        my ($name, @rest) = @$words;
        my $reply = $redis->$name(@rest);
        return typed($reply);
    },
    pipeline => sub {
        my ($redis, $commands) = @_;
        my @replies;
        enqueue($redis, \@replies, $_) for @$commands;
        $redis->wait_all_responses;
        return \@replies;
    },
    transaction => sub {
        my ($redis, $commands) = @_;
        $redis->multi;
        my @queued;
        enqueue($redis, \@queued, $_) for @$commands;
        $redis->wait_all_responses;
        my @replies = $redis->exec;
        return [ map { typed($_) } @replies ];
    },
    scan => sub {
        my ($redis, $pattern) = @_;
        my ($cursor, @found) = (0);
        do {
            ($cursor, my $page) = $redis->scan($cursor, MATCH => $pattern);
            push @found, @$page;
        } while $cursor;
        return \@found;
    },
    listen => sub {
        my ($redis, $channel) = @_;
        my $heard;
        my $callback = sub { my ($payload, $topic) = @_; $heard = [ $topic, $payload ] };
        $redis->subscribe($channel, $callback);
        $redis->wait_for_messages(0.05) until $heard;
        $redis->unsubscribe($channel, $callback);
        return $heard;
    },
    method => sub {
        my ($redis, $name, @rest) = @_;
        my @reply = $redis->$name(@rest);
        return typed($name eq 'keys' ? \@reply : $reply[0]);
    },
);

my $redis = eval {
    my $database = $options->{database};
    Redis->new(
        server    => "$options->{host}:$options->{port}",
        reconnect => 10,
        every     => 20_000,
        ( map { defined $options->{$_} ? ( ( $_ eq 'user' ? 'username' : $_ ) => $options->{$_} ) : () } qw(user password name) ),
    );
};
if ($@) {
    tell_line(failure($@));
    exit;
}
$redis->select($options->{database}) if $options->{database};
my ($true, $false) = (JSON::PP::true, JSON::PP::false);
tell_line({ client => "Perl Redis $Redis::VERSION", resends => $false, renames => $true, untyped => $true, more => ['method'] });
while (my $line = <STDIN>) {
    my ($verb, @arguments) = @{ $json->decode($line) };
    my $reply = eval { $verbs{$verb}->($redis, @arguments) };
    tell_line($@ ? failure($@) : $reply);
}
$redis->quit;
