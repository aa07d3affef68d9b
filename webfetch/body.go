package webfetch

import (
	"errors"
	"io"
	"sync"
	"time"
)

const (
	maxBody     = 10 << 20 // bytes, on the wire and decoded
	sniffLen    = 64 << 10 // what is read of a body before deciding
	idleTimeout = 10 * time.Second
	maxRatio    = 64 // decoded to compressed, once more than ratioFloor is decoded
	ratioFloor  = 1 << 20
)

var errIdle = errors.New("the server sent nothing for 10 seconds")

// A patient reader gives up on a body that stands still.
type patient struct {
	r     io.ReadCloser
	timer *time.Timer
	mu    sync.Mutex
	idle  bool
}

func newPatient(r io.ReadCloser, stop func()) *patient {
	p := &patient{r: r}
	p.timer = time.AfterFunc(idleTimeout, func() {
		p.mu.Lock()
		p.idle = true
		p.mu.Unlock()
		stop()
	})
	return p
}

func (p *patient) Read(b []byte) (int, error) {
	p.timer.Reset(idleTimeout)
	n, err := p.r.Read(b)
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && err != io.EOF && p.idle {
		err = errIdle
	}
	return n, err
}

func (p *patient) Close() error {
	p.timer.Stop()
	return p.r.Close()
}

// A body is what was read of an answer.
type body struct {
	raw       []byte // as it came
	data      []byte // decoded from its Content-Encoding
	truncated bool
	reason    string // why it was cut
}

// grow reads on until the body has limit bytes or ends.
func (b *body) grow(w *wire, limit int, progress func(done, total int64)) (ended bool, err error) {
	buf := make([]byte, 32<<10)
	for len(b.raw) < limit {
		n, err := w.Body.Read(buf[:min(len(buf), limit-len(b.raw))])
		b.raw = append(b.raw, buf[:n]...)
		if progress != nil {
			progress(int64(len(b.raw)), max(w.ContentLength, 0))
		}
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}
