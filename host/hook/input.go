package hook

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Limits of an event: how long the host may pause before it is complete, and
// its size in bytes. Some hosts never close the hook's standard input.
const (
	idle    = 2 * time.Second
	maxSize = 32 << 20
)

// read returns the first JSON value of in. It doesn't wait for the end of in.
func read(in io.Reader) ([]byte, error) {
	type outcome struct {
		raw json.RawMessage
		err error
	}
	done, beat := make(chan outcome, 1), make(chan struct{}, 1)
	limited := &io.LimitedReader{R: in, N: maxSize}
	go func() {
		var o outcome
		o.err = json.NewDecoder(beating{limited, beat}).Decode(&o.raw)
		done <- o
	}()
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		select {
		case o := <-done:
			switch {
			case o.err == nil:
				return o.raw, nil
			case limited.N <= 0:
				return nil, fmt.Errorf("it is larger than %d MiB", maxSize>>20)
			case o.err == io.EOF:
				return nil, fmt.Errorf("standard input is empty; the host must send the event as JSON")
			}
			return nil, fmt.Errorf("not valid JSON: %w", o.err)
		case <-beat:
			timer.Reset(idle)
		case <-timer.C:
			return nil, fmt.Errorf("no complete JSON on standard input after %v of silence", idle)
		}
	}
}

// beating tells beat of every read that brought something.
type beating struct {
	r    io.Reader
	beat chan<- struct{}
}

func (b beating) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	select {
	case b.beat <- struct{}{}:
	default:
	}
	return n, err
}
