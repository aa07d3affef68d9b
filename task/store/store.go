// Package store keeps tasks on disk: an append-only log of what happened to
// each, and beside it, written in the same transaction, what follows from the
// log. There is one writer, the runner. Nothing is decided here.
//
// A change is on disk when the method that makes it returns, as far as a killed
// process is concerned; a power cut may take the last few with it, never the
// order or the consistency of the rest.
package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"

	"github.com/whet-dev/whet/task"
)

// migrations make the schema, one step for each version. Steps that were
// released are never changed.
var migrations = [...]string{`
CREATE TABLE ev(seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, task TEXT NOT NULL, gen INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX ev_task ON ev(task, seq);
CREATE TABLE task(id TEXT PRIMARY KEY, parent TEXT NOT NULL, alias TEXT NOT NULL, body TEXT NOT NULL, UNIQUE(parent, alias)) WITHOUT ROWID;
CREATE TABLE alias(parent TEXT NOT NULL, prefix TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY(parent, prefix)) WITHOUT ROWID;
CREATE TABLE outbox(task TEXT PRIMARY KEY, gen INTEGER NOT NULL, rev INTEGER NOT NULL, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE note(id TEXT PRIMARY KEY, task TEXT NOT NULL, gen INTEGER NOT NULL, text TEXT NOT NULL, state TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX note_task ON note(task, gen);
CREATE TABLE journal(task TEXT NOT NULL, n INTEGER NOT NULL, gen INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY(task, n)) WITHOUT ROWID;
CREATE TABLE link(parent TEXT PRIMARY KEY, session TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE wait(parent TEXT PRIMARY KEY, since INTEGER NOT NULL, reason TEXT NOT NULL) WITHOUT ROWID;
`}

// A Store is the open database of one user.
type Store struct {
	db      *sql.DB
	dir     string
	damaged string
}

// fileName is the database's; SQLite puts two more beside it.
const fileName = "tasks.db"

// Open opens the database in dir, made if it isn't there. A database that can't
// be read is set aside, see [Store.Damaged], never overwritten.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fileName)
	s := &Store{dir: dir}
	err := s.open(path)
	if code := codeOf(err); code == notADatabase || code == corrupt {
		s.damaged = fmt.Sprintf("%s.damaged-%s", path, time.Now().UTC().Format("20060102T150405"))
		for _, tail := range []string{"", "-wal", "-shm"} {
			if err := os.Rename(path+tail, s.damaged+tail); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("setting the damaged %s aside: %w", path, err)
			}
		}
		err = s.open(path)
	}
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	s.reserve()
	return s, nil
}

// Damaged returns where a database went that could not be read, or "".
func (s *Store) Damaged() string { return s.damaged }

func (s *Store) open(path string) error {
	if err := private(path); err != nil {
		return err
	}
	u := url.URL{Path: filepath.ToSlash(path)}
	db, err := sql.Open("sqlite", "file:"+u.EscapedPath()+
		"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if err := check(db); err != nil {
		return errors.Join(err, db.Close())
	}
	s.db = db
	return nil
}

// private makes sure that the database is for its user alone: SQLite would make
// it for everybody, and gives the files beside it the same mode.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// check looks the database through and brings its schema up to date.
func check(db *sql.DB) error {
	var verdict string
	if err := db.QueryRow("PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return damage(verdict)
	}
	var version int
	if err := db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(migrations) {
		return fmt.Errorf("it was written by a newer whet (schema %d, this one knows %d); update whet", version, len(migrations))
	}
	for ; version < len(migrations); version++ {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
		if _, err := tx.Exec(migrations[version] + fmt.Sprintf("PRAGMA user_version=%d;", version+1)); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// Result codes of SQLite.
const (
	corrupt      = 11
	full         = 13
	notADatabase = 26
)

// damage is what the check found.
type damage string

func (d damage) Error() string { return "damaged: " + string(d) }

func codeOf(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	if errors.As(err, new(damage)) {
		return corrupt
	}
	return 0
}

// ErrFull says that the disk is full: what is open can still be ended, but
// nothing new can be launched.
var ErrFull = errors.New("the disk with whet's state is full; nothing new is started until there is room")

// reserveSize is kept back on the disk for the ends and cancels of what runs.
const reserveSize = 512 << 10

func (s *Store) reserveFile() string { return filepath.Join(s.dir, "reserve") }

// reserve makes the reserve file, and reports whether it is there.
func (s *Store) reserve() bool {
	if info, err := os.Stat(s.reserveFile()); err == nil && info.Size() == reserveSize {
		return true
	}
	// Real bytes: a file with a hole takes no room.
	if os.WriteFile(s.reserveFile(), make([]byte, reserveSize), 0o600) != nil {
		_ = os.Remove(s.reserveFile())
		return false
	}
	return true
}

// write runs f in a transaction. If the disk is full, the reserve is given up
// once.
func (s *Store) write(f func(*sql.Tx) error) error {
	err := s.tx(f)
	if codeOf(err) == full && os.Remove(s.reserveFile()) == nil {
		err = s.tx(f)
	}
	if codeOf(err) == full {
		return fmt.Errorf("%w (%w)", ErrFull, err)
	}
	return err
}

func (s *Store) tx(f func(*sql.Tx) error) error {
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// Tasks returns every task there is, oldest first.
func (s *Store) Tasks() ([]*task.Task, error) {
	return query(s, "SELECT body FROM task ORDER BY id", func(r *sql.Rows) (*task.Task, error) {
		var body string
		if err := r.Scan(&body); err != nil {
			return nil, err
		}
		t := new(task.Task)
		return t, json.Unmarshal([]byte(body), t)
	})
}

// query returns what scan makes of each row.
func query[T any](s *Store, q string, scan func(*sql.Rows) (T, error), args ...any) (out []T, err error) {
	rows, err := s.db.Query(q, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}
