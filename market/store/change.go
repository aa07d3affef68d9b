package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// A BusyError says that another process changes the store.
type BusyError struct{ PID int }

func (e *BusyError) Error() string {
	if e.PID == 0 {
		return "another process is changing the store"
	}
	return fmt.Sprintf("process %d is changing the store", e.PID)
}

// A Tx is a change on its way. Its fields are what is committed when the
// function given to Change returns.
type Tx struct {
	*Lock
	Trust Trust
	Log   Entry // its At and Generation are filled in

	store *Store
	root  *os.Root
	stage string // directory of this change's own, below the store
	edits []Edit
}

// An Entry is a line of log.jsonl.
type Entry struct {
	At         time.Time `json:"at"`
	Action     string    `json:"action"`
	ID         string    `json:"id,omitempty"`
	Generation int       `json:"generation"`
	Text       string    `json:"text,omitempty"`
}

// Change runs f while no other process can change the store, and commits what
// it did if it returns nil. Nothing of it counts before.
func (s *Store) Change(ctx context.Context, f func(*Tx) error) error {
	root, err := s.open()
	if err != nil {
		return err
	}
	defer root.Close()
	unlock, err := s.lock(ctx, root)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.recover(root); err != nil {
		return err
	}
	lock, err := s.Read()
	if err != nil {
		return err
	}
	before, err := lock.Encode()
	if err != nil {
		return err
	}
	trust, err := s.Trusted()
	if err != nil {
		return err
	}
	trusted, err := json.Marshal(trust)
	if err != nil {
		return err
	}
	tx := &Tx{Lock: lock, Trust: trust, store: s, root: root, stage: fmt.Sprintf("staging/%d-%s", os.Getpid(), rand.Text()[:8])}
	defer func() { _ = root.RemoveAll(tx.stage) }() // or the next garbage collection
	if err := root.Mkdir(tx.stage, 0o700); err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return err
	}
	return tx.commit(before, trusted)
}

// lock takes the one lock there is. It is freed when the process ends, however
// it ends.
func (s *Store) lock(ctx context.Context, root *os.Root) (unlock func(), err error) {
	const name = "store.lock"
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file; remove it", s.path(name))
	}
	l := flock.New(s.path(name), flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if !ok && err == nil && s.Wait > 0 {
		wait, cancel := context.WithTimeout(ctx, s.Wait)
		defer cancel()
		ok, err = l.TryLockContext(wait, 20*time.Millisecond)
	}
	if ctx.Err() != nil {
		_ = l.Unlock()
		return nil, ctx.Err()
	}
	if !ok && (err == nil || errors.Is(err, context.DeadlineExceeded)) {
		b, _ := root.ReadFile(name) // who holds it is only for the text
		pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
		return nil, &BusyError{pid}
	}
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w; the file system must support locks, $WHET_MARKET_DIR moves the store", s.path(name), err)
	}
	if err := root.WriteFile(name, fmt.Appendln(nil, os.Getpid()), 0o600); err != nil {
		_ = l.Unlock()
		return nil, err
	}
	return func() { _ = l.Unlock() }, nil
}

func (tx *Tx) commit(before, trusted []byte) error {
	if b, err := json.MarshalIndent(tx.Trust, "", " "); err != nil {
		return err
	} else if same, _ := json.Marshal(tx.Trust); !bytes.Equal(same, trusted) {
		// First what takes trust away or grants it: a crash then leaves a package
		// less trusted than meant, or a grant for what isn't there.
		if err := tx.replace(trustName, append(b, '\n')); err != nil {
			return err
		}
	}
	after, err := tx.Encode()
	if err != nil {
		return err
	}
	changed := !bytes.Equal(before, after)
	if err := tx.begin(changed); err != nil {
		return err
	}
	if changed {
		tx.Generation++
		if err := tx.commitLock(); err != nil {
			return errors.Join(err, tx.store.recover(tx.root))
		}
	}
	if err := tx.root.Remove(txnName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tx.log()
	return nil
}

// commitLock replaces lock.json, which is the moment of the change.
func (tx *Tx) commitLock() error {
	b, err := tx.Encode()
	if err != nil {
		return err
	}
	if err := tx.replace("FORMAT", []byte(format+"\n")); err != nil {
		return err
	}
	old, err := tx.root.ReadFile(lockName)
	if err == nil {
		err = tx.replace(lockName+".prev", old)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return tx.replace(lockName, b)
}

// replace writes a file of the store whole, or leaves the old one.
func (tx *Tx) replace(name string, data []byte) error {
	if old, err := tx.root.ReadFile(name); err == nil && bytes.Equal(old, data) {
		return nil
	}
	tmp := tx.stage + "/" + path.Base(name) + ".new"
	if err := tx.write(tmp, data, 0o600); err != nil {
		return err
	}
	if err := tx.root.Rename(tmp, name); err != nil {
		return err
	}
	return tx.syncDir(path.Dir(name))
}

// write makes a new file and waits until it is on the disk.
func (tx *Tx) write(name string, data []byte, mode fs.FileMode) error {
	f, err := tx.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && !tx.store.NoSync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir waits until a rename in the directory is on the disk, where the
// system can.
func (tx *Tx) syncDir(name string) error {
	if tx.store.NoSync {
		return nil
	}
	d, err := tx.root.Open(name)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every system lets directories be synced
	return d.Close()
}

// log appends a line. The change stands whatever becomes of it.
func (tx *Tx) log() {
	if tx.Log.Action == "" {
		return
	}
	tx.Log.At, tx.Log.Generation = time.Now().UTC().Truncate(time.Second), tx.Generation
	b, err := json.Marshal(tx.Log)
	if err != nil {
		return
	}
	f, err := tx.root.OpenFile("log.jsonl", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(b, '\n'))
	_ = f.Close()
}
