package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/whet-dev/whet/internal/atomicfile"
	"github.com/whet-dev/whet/internal/plainfile"
)

// An Edit replaces a configuration file together with the store's own change:
// after a crash both are done or neither.
type Edit struct {
	Dir    string `json:"dir"`    // nothing outside is written, whatever links there are
	Name   string `json:"name"`   // relative to Dir
	Before []byte `json:"before"` // nil if there was no file
	After  []byte `json:"after"`
}

// Edit adds an edit to the change. It fails at once if the file doesn't hold
// what the edit was made for.
func (tx *Tx) Edit(e Edit) error {
	if err := e.check(e.Before); err != nil {
		return err
	}
	tx.edits = append(tx.edits, e)
	return nil
}

const txnName = "txn.json"

// A txn is what is needed to take the edits back.
type txn struct {
	Generation int    `json:"generation"` // of the store before
	Edits      []Edit `json:"edits"`
}

// begin writes the edits. If something else belongs to them, how to take them
// back is on the disk first.
func (tx *Tx) begin(more bool) error {
	if len(tx.edits) == 0 {
		return nil
	}
	if more || len(tx.edits) > 1 {
		b, err := json.Marshal(txn{tx.Generation, tx.edits})
		if err == nil {
			err = tx.replace(txnName, b)
		}
		if err != nil {
			return err
		}
	}
	for _, e := range tx.edits {
		err := e.check(e.Before)
		if err == nil {
			err = e.write(e.After)
		}
		if err != nil {
			return errors.Join(err, tx.store.recover(tx.root))
		}
	}
	return nil
}

// recover ends what a writer that died has left: edits of a change that was
// committed stay, others are taken back.
func (s *Store) recover(root *os.Root) error {
	b, err := root.ReadFile(txnName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var t txn
	if err := json.Unmarshal(b, &t); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrLockfile, s.path(txnName), err)
	}
	l, err := s.Read()
	if err != nil {
		return err
	}
	if l.Generation == t.Generation {
		for _, e := range t.Edits {
			if e.check(e.After) != nil {
				continue // not written yet, or changed by somebody since
			}
			if err := e.write(e.Before); err != nil {
				return fmt.Errorf("taking back the edit of %s: %w", e.path(), err)
			}
		}
	}
	return root.Remove(txnName)
}

func (e Edit) path() string { return filepath.Join(e.Dir, e.Name) }

// check reports whether the file holds want, nil for no file.
func (e Edit) check(want []byte) error {
	got, err := e.read()
	if err != nil {
		return err
	}
	if (got == nil) != (want == nil) || !bytes.Equal(got, want) {
		return fmt.Errorf("%s was changed by another program at the same time; nothing was written, try again", e.path())
	}
	return nil
}

// maxEdited bounds a configuration file, in bytes.
const maxEdited = 1 << 20

// read returns what the file holds, nil if there is none.
func (e Edit) read() ([]byte, error) {
	root, err := os.OpenRoot(e.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	b, err := plainfile.ReadIn(root, e.Name, maxEdited)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if b == nil {
		b = []byte{}
	}
	return b, err
}

// write makes the file hold data; nil removes it.
func (e Edit) write(data []byte) error {
	if data != nil {
		if err := os.MkdirAll(e.Dir, 0o777); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(e.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if data == nil {
		return root.Remove(e.Name)
	}
	if err := root.MkdirAll(filepath.Dir(e.Name), 0o777); err != nil {
		return err
	}
	return atomicfile.Write(root, e.Name, data)
}
