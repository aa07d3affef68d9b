package remote

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/whet-dev/whet/task/store"
)

// Headers of a row.
const (
	kindHeader = "Whet-Kind"
	genHeader  = "Whet-Gen"
	rowHeader  = "Whet-Row"  // unlike any other's
	moreHeader = "Whet-More" // there is more of it in the next message
)

// errFenced says that somebody else has taken the run.
var errFenced = errors.New("another worker has taken the run over")

// maxOutage is how long the server may be away before a run is given up by its
// worker. It stays in the queue.
const maxOutage = 10 * time.Minute

// A journal adds rows to the journal of one task for as long as nobody else does.
type journal struct {
	c    *conn
	ctx  context.Context // ends the waiting for a server that is away
	task string

	mu   sync.Mutex
	last uint64 // sequence of the last row
	rows []store.Row
	lost error // why it takes no more
}

// openJournal reads a task's journal.
func (c *conn) openJournal(ctx context.Context, id string) (*journal, error) {
	j := &journal{c: c, ctx: ctx, task: id}
	var err error
	j.rows, j.last, err = c.read(ctx, id)
	return j, err
}

// read returns a task's rows and the sequence of the last. A row that was not
// written whole isn't there.
func (c *conn) read(ctx context.Context, id string) (rows []store.Row, end uint64, err error) {
	s, err := c.stores(ctx)
	if err != nil {
		return nil, 0, err
	}
	m, err := last(ctx, s.log, logSubjects+id)
	if m == nil || err != nil {
		return nil, 0, err
	}
	ordered, err := s.log.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{logSubjects + id}, MaxResetAttempts: 3})
	if err != nil {
		return nil, 0, err
	}
	all, err := ordered.Messages()
	if err != nil {
		return nil, 0, err
	}
	defer all.Stop()
	var size int
	var part store.Row
	var partOf string
	for end < m.Sequence {
		msg, err := all.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, 0, err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return nil, 0, err
		}
		end = meta.Sequence.Stream
		if size += len(msg.Data()); size > maxLog {
			return nil, 0, fmt.Errorf("the journal of %s is larger than %d MiB", id, maxLog>>20)
		}
		row := rowOf(msg.Headers(), msg.Data())
		if of := msg.Headers().Get(rowHeader); of == partOf && of != "" {
			row.Body = append(part.Body, row.Body...)
		} else {
			partOf = of
		}
		if part = row; msg.Headers().Get(moreHeader) == "" {
			rows, partOf = append(rows, unbundled(row)...), ""
		}
	}
	return rows, end, nil
}

func rowOf(h nats.Header, body []byte) store.Row {
	gen, err := strconv.ParseUint(h.Get(genHeader), 10, 32)
	if err != nil {
		gen = 0 // no task's
	}
	return store.Row{Gen: uint32(gen), Kind: h.Get(kindHeader), Body: body}
}

// rowsRow is the kind of a row that holds several.
const rowsRow = "rows"

func unbundled(r store.Row) (rows []store.Row) {
	if r.Kind != rowsRow || json.Unmarshal(r.Body, &rows) != nil {
		return []store.Row{r}
	}
	return rows
}

// AddRows implements [llm.Journal]: several rows are kept all or none.
func (j *journal) AddRows(_ string, rows ...store.Row) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(rows) == 0 || j.lost != nil {
		return j.lost
	}
	r := rows[0]
	if len(rows) > 1 {
		body, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		r = store.Row{Gen: r.Gen, Kind: rowsRow, Body: body}
	}
	if j.lost = j.add(r); j.lost == nil {
		j.rows = append(j.rows, rows...)
	}
	return j.lost
}

// Rows implements [llm.Journal].
func (j *journal) Rows(string) ([]store.Row, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rows, nil
}

// at is the sequence of the last row.
func (j *journal) at() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last
}

// add writes a row, in as many messages as it takes.
func (j *journal) add(r store.Row) error {
	limit := int(min(max(j.c.nc.MaxPayload(), 4<<10)/2, 512<<10))
	id := rand.Text()
	for n := 0; ; n++ {
		m := nats.NewMsg(logSubjects + j.task)
		m.Header.Set(kindHeader, r.Kind)
		m.Header.Set(genHeader, strconv.FormatUint(uint64(r.Gen), 10))
		m.Header.Set(rowHeader, id)
		m.Data = r.Body[:min(limit, len(r.Body))]
		r.Body = r.Body[len(m.Data):]
		if len(r.Body) > 0 {
			m.Header.Set(moreHeader, strconv.Itoa(n+1))
		}
		err := patiently(j.ctx, func() error {
			seq, err := j.send(m)
			if err == nil {
				j.last = seq
			}
			return err
		})
		if err != nil || len(r.Body) == 0 {
			return err
		}
	}
}

// patiently does f until it succeeds, waiting for a server that is away. What
// the server refuses isn't tried again.
func patiently(ctx context.Context, f func() error) error {
	limit := time.Now().Add(maxOutage)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := f()
		var api *jetstream.APIError
		refused := errors.As(err, &api) && api.Code < 500
		if err == nil || errors.Is(err, errFenced) || refused || time.Now().After(limit) {
			return err
		}
		if !sleep(ctx, wait) {
			return context.Cause(ctx)
		}
	}
}

// send writes one message after the last, and returns its sequence.
func (j *journal) send(m *nats.Msg) (uint64, error) {
	ctx, cancel := context.WithTimeout(j.ctx, call)
	defer cancel()
	ack, err := j.c.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(j.last))
	if err == nil {
		return ack.Sequence, nil
	}
	if !wrongLast(err) {
		return 0, err
	}
	// Either somebody else was faster, or the server's answer to us got lost.
	s, err := j.c.stores(ctx)
	if err != nil {
		return 0, err
	}
	there, err := last(ctx, s.log, m.Subject)
	switch {
	case err != nil:
		return 0, err
	case there != nil && there.Header.Get(rowHeader) == m.Header.Get(rowHeader) && there.Header.Get(moreHeader) == m.Header.Get(moreHeader):
		return there.Sequence, nil
	}
	return 0, errFenced
}

// bodyOf returns the last row of a kind.
func bodyOf[T any](rows []store.Row, kind string) (v T, ok bool) {
	for _, r := range rows {
		if r.Kind == kind {
			var next T
			if json.Unmarshal(r.Body, &next) == nil {
				v, ok = next, true
			}
		}
	}
	return v, ok
}
