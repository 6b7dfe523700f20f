// Package budget books a slot, waits for it, and shares a provider's Retry-After, with go-redis.
package budget

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrTooBusy says that there is no slot within 30 seconds.
var ErrTooBusy = errors.New("no slot within 30 s")

// Slot waits for one of 80 permits a second of key. The id, new for each request, makes it safe that
// go-redis sends a command again by itself when a connection breaks.
func Slot(ctx context.Context, client *redis.Client, key, id string) error {
	reply, err := client.Do(ctx, "RL.RESERVE", key, 80, 80, 30000, "TICKET", "ID", id).Int64Slice()
	if err != nil {
		return err
	}
	waitMs, ticket := reply[0], reply[1]
	if waitMs < 0 {
		return ErrTooBusy
	}
	for waitMs > 0 {
		select {
		case <-time.After(time.Duration(waitMs) * time.Millisecond):
		case <-ctx.Done():
			client.Do(context.WithoutCancel(ctx), "RL.CANCEL", key, ticket)
			return ctx.Err()
		}
		// Somebody may have paused the key meanwhile: then there is a new slot to wait for.
		if waitMs, err = client.Do(ctx, "RL.CONFIRM", key, ticket).Int64(); err != nil {
			return err
		}
	}
	return nil
}

// Pause holds everybody back after a 429, for as long as the provider says.
func Pause(ctx context.Context, client *redis.Client, key string, retryAfter time.Duration) error {
	return client.Do(ctx, "RL.PAUSE", key, retryAfter.Milliseconds()).Err()
}
