package proc

import (
	"io"
	"sync"
)

// capture keeps the first and the last bytes of a stream, max in all, and
// counts what it cut out between them. It always reads on, so that the writer
// is never blocked.
type capture struct {
	max  int
	head []byte
	tail []byte
	cut  int64
	mu   sync.Mutex
}

func (c *capture) readFrom(r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		c.add(buf[:n])
		if err != nil {
			return
		}
	}
}

func (c *capture) add(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	half := c.max / 2
	if room := half - len(c.head); room > 0 {
		n := min(room, len(p))
		c.head = append(c.head, p[:n]...)
		p = p[n:]
	}
	c.tail = append(c.tail, p...)
	if over := len(c.tail) - (c.max - half); over > 0 {
		c.cut += int64(over)
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
}

func (c *capture) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut == 0 {
		return append(c.head, c.tail...)
	}
	return append(append(c.head, "\n[... output cut here ...]\n"...), c.tail...)
}
