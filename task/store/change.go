package store

import (
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/whet-dev/whet/task"
)

// A Change is one thing that happened to a task, with all that follows from
// it. It is kept whole or not at all.
type Change struct {
	Task   *task.Task // as it is afterwards
	Kind   string     // for the log
	Body   any        // for the log; JSON
	Notice *task.Notice
	// Settled tells that no notice waits any more.
	Settled bool
	Notes   []Note
}

// A Note is a message to a task and what became of it.
type Note struct {
	ID    string    `json:"id"`
	Task  string    `json:"task"`
	Gen   uint32    `json:"gen"`
	Text  string    `json:"text"`
	State NoteState `json:"state"`
}

// A NoteState is how far a message has come.
type NoteState string

// A message is taken, then kept by the backend, then read or handed back.
const (
	NoteQueued   NoteState = "queued"
	NoteStored   NoteState = "stored"
	NoteConsumed NoteState = "consumed"
	NoteReturned NoteState = "returned"
)

// Create keeps a new task and gives it its alias, which no other task of its
// parent ever had. It refuses with [ErrFull] while the disk is full.
func (s *Store) Create(t *task.Task, prefix string) error {
	if !s.reserve() {
		return ErrFull
	}
	return s.write(func(tx *sql.Tx) error {
		if err := nameIt(tx, t, prefix); err != nil {
			return err
		}
		return commit(tx, Change{Task: t, Kind: "launched"})
	})
}

// Commit keeps a change.
func (s *Store) Commit(c Change) error {
	return s.write(func(tx *sql.Tx) error { return commit(tx, c) })
}

func commit(tx *sql.Tx, c Change) error {
	t := c.Task
	body, err := encode(t)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`INSERT INTO task VALUES(?,?,?,?) ON CONFLICT DO UPDATE SET parent=excluded.parent, alias=excluded.alias, body=excluded.body`, t.ID, t.Parent, t.Alias, body); err != nil {
		return err
	}
	if c.Kind != "" {
		logged, err := encode(c.Body)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO ev(at, task, gen, kind, body) VALUES(?,?,?,?,?)`, time.Now().UnixMilli(), t.ID, t.Gen, c.Kind, logged); err != nil {
			return err
		}
	}
	if c.Settled {
		if _, err := tx.Exec(`DELETE FROM outbox WHERE task=?`, t.ID); err != nil {
			return err
		}
	}
	if n := c.Notice; n != nil {
		if _, err := tx.Exec(`INSERT OR REPLACE INTO outbox VALUES(?,?,?,?)`, n.Task, n.Gen, n.Rev, n.Text); err != nil {
			return err
		}
	}
	for _, n := range c.Notes {
		if _, err := tx.Exec(`INSERT OR REPLACE INTO note VALUES(?,?,?,?,?)`, n.ID, n.Task, n.Gen, n.Text, n.State); err != nil {
			return err
		}
	}
	return nil
}

// An Entry is a line of a task's log.
type Entry struct {
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	Task string    `json:"task"`
	Gen  uint32    `json:"gen"`
	Kind string    `json:"kind"`
	Body string    `json:"body"` // JSON
}

// Append adds a line to a task's log that changes nothing.
func (s *Store) Append(id string, gen uint32, kind string, body any) error {
	text, err := encode(body)
	if err != nil {
		return err
	}
	return s.write(func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO ev(at, task, gen, kind, body) VALUES(?,?,?,?,?)`, time.Now().UnixMilli(), id, gen, kind, text)
		return err
	})
}

// Log returns at most limit lines of a task's log after the one numbered seq.
func (s *Store) Log(id string, seq int64, limit int) ([]Entry, error) {
	return query(s, `SELECT seq, at, task, gen, kind, body FROM ev WHERE task=? AND seq>? ORDER BY seq LIMIT ?`, func(r *sql.Rows) (e Entry, err error) {
		var at int64
		err = r.Scan(&e.Seq, &at, &e.Task, &e.Gen, &e.Kind, &e.Body)
		e.At = time.UnixMilli(at).UTC()
		return e, err
	}, id, seq, limit)
}

// Notices returns the notices that wait, by task.
func (s *Store) Notices() (map[string]task.Notice, error) {
	rows, err := query(s, `SELECT task, gen, rev, text FROM outbox`, func(r *sql.Rows) (n task.Notice, err error) {
		err = r.Scan(&n.Task, &n.Gen, &n.Rev, &n.Text)
		n.ID = fmt.Sprintf("%s/%d/%d", n.Task, n.Gen, n.Rev)
		return n, err
	})
	out := map[string]task.Notice{}
	for _, n := range rows {
		out[n.Task] = n
	}
	return out, err
}

// Notes returns a task's messages, oldest first.
func (s *Store) Notes(id string) ([]Note, error) {
	return query(s, `SELECT id, task, gen, text, state FROM note WHERE task=? ORDER BY id`, func(r *sql.Rows) (n Note, err error) {
		err = r.Scan(&n.ID, &n.Task, &n.Gen, &n.Text, &n.State)
		return n, err
	}, id)
}

// A Row is a row of the journal that a backend keeps of a task's conversation.
type Row struct {
	Gen  uint32
	Kind string
	Body []byte
}

// AddRows appends to a task's journal.
func (s *Store) AddRows(id string, rows ...Row) error {
	return s.write(func(tx *sql.Tx) error {
		for _, r := range rows {
			if _, err := tx.Exec(`INSERT INTO journal SELECT ?, coalesce(max(n),0)+1, ?, ?, ? FROM journal WHERE task=?`, id, r.Gen, r.Kind, string(r.Body), id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Rows returns a task's journal.
func (s *Store) Rows(id string) ([]Row, error) {
	return query(s, `SELECT gen, kind, body FROM journal WHERE task=? ORDER BY n`, func(r *sql.Rows) (row Row, err error) {
		err = r.Scan(&row.Gen, &row.Kind, &row.Body)
		return row, err
	}, id)
}

// A Wait says that a session waits for a person.
type Wait struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
}

// SetWait keeps that the session waits; nil that it doesn't any more.
func (s *Store) SetWait(parent string, w *Wait) error {
	return s.write(func(tx *sql.Tx) error {
		if w == nil {
			_, err := tx.Exec(`DELETE FROM wait WHERE parent=?`, parent)
			return err
		}
		_, err := tx.Exec(`INSERT OR REPLACE INTO wait VALUES(?,?,?)`, parent, w.Since.UnixMilli(), w.Reason)
		return err
	})
}

// Waits returns the sessions that wait for a person.
func (s *Store) Waits() (map[string]Wait, error) {
	type row struct {
		parent string
		Wait
	}
	rows, err := query(s, `SELECT parent, since, reason FROM wait`, func(r *sql.Rows) (w row, err error) {
		var since int64
		err = r.Scan(&w.parent, &since, &w.Reason)
		w.Since = time.UnixMilli(since).UTC()
		return w, err
	})
	out := map[string]Wait{}
	for _, w := range rows {
		out[w.parent] = w.Wait
	}
	return out, err
}

// Link keeps that what is told to parent is to be told to session too.
func (s *Store) Link(parent, session string) error {
	return s.write(func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT OR REPLACE INTO link VALUES(?,?)`, parent, session)
		return err
	})
}

// Links returns which sessions hear of which parents' tasks.
func (s *Store) Links() (map[string]string, error) {
	rows, err := query(s, `SELECT parent, session FROM link`, func(r *sql.Rows) (l [2]string, err error) {
		return l, r.Scan(&l[0], &l[1])
	})
	out := map[string]string{}
	for _, l := range rows {
		out[l[0]] = l[1]
	}
	return out, err
}

// Forget removes tasks with all that is kept of them. Their aliases are not
// given again.
func (s *Store) Forget(ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	err := s.write(func(tx *sql.Tx) error {
		for _, id := range ids {
			for _, table := range strings.Fields("ev outbox note journal") {
				if _, err := tx.Exec(`DELETE FROM `+table+` WHERE task=?`, id); err != nil {
					return err
				}
			}
			if _, err := tx.Exec(`DELETE FROM task WHERE id=?`, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = s.db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	if codeOf(err) == full { // there is room for what matters all the same
		return nil
	}
	return err
}

// Adopt keeps that a task has another parent, and gives it an alias there.
func (s *Store) Adopt(t *task.Task, prefix string) error {
	return s.write(func(tx *sql.Tx) error {
		if err := nameIt(tx, t, prefix); err != nil {
			return err
		}
		return commit(tx, Change{Task: t, Kind: "adopted", Body: t.Parent})
	})
}

// nameIt gives a task an alias that no other task of its parent ever had.
func nameIt(tx *sql.Tx, t *task.Task, prefix string) error {
	var n int
	whose := t.Parent
	if strings.HasPrefix(whose, task.MCPParent) {
		// One conversation outlives the connections to our server, and a name in it
		// must never come to mean another task.
		whose = task.MCPParent + t.Dir
	}
	err := tx.QueryRow(`INSERT INTO alias VALUES(?,?,1) ON CONFLICT DO UPDATE SET n=n+1 RETURNING n`, whose, prefix).Scan(&n)
	t.Alias = task.Alias(prefix, n)
	return err
}
