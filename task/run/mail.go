package run

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/task"
)

// flush writes the mail files that are stale, and takes in what hooks left.
func (r *Runner) flush() {
	type letter struct {
		key  string
		mail task.Mail
		gone bool
	}
	r.takeSlips() // first: one may say whom the mail is for
	var letters []letter
	now := time.Now()
	r.mu.Lock()
	for key, p := range r.parents {
		if !p.dirty {
			continue
		}
		p.dirty = false
		p = r.heard(key)
		l := letter{key: key, gone: len(p.tasks) == 0 && p.wait == nil}
		l.mail.Notices, l.mail.Open = r.noticesOf(p)
		if r.links[key] != "" {
			l.mail.Notices = nil // the session that is linked is told of them
		}
		l.mail.Board = task.Board(p.pictures(), now, r.Options.Budget)
		l.mail.Waiting = p.wait != nil
		letters = append(letters, l)
	}
	r.mu.Unlock()
	r.writeClaims()
	for _, l := range letters {
		path := task.MailFile(r.Dir, l.key)
		var err error
		if l.gone {
			err = os.Remove(path)
		} else {
			err = writeMail(path, l.mail)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			r.Log.Warn("writing a session's mail", "err", err)
		}
	}
}

// writeClaims keeps the file of claims as it should be.
func (r *Runner) writeClaims() {
	r.claiming.Lock()
	defer r.claiming.Unlock()
	r.mu.Lock()
	claims := r.claims()
	r.mu.Unlock()
	b, err := json.Marshal(claims)
	if err == nil && string(b) == r.claimed {
		return
	}
	switch {
	case err != nil:
	case len(claims) == 0:
		if err = os.Remove(task.ClaimFile(r.Dir)); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	default:
		err = replace(task.ClaimFile(r.Dir), b)
	}
	if err != nil {
		r.Log.Warn("writing what tasks own", "err", err)
		return
	}
	r.claimed = string(b)
}

func writeMail(path string, m task.Mail) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return replace(path, b)
}

func replace(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// It can be made again at any time, so it needn't survive a power cut.
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (r *Runner) takeSlips() {
	err := state.Spool(task.SlipDir(r.Dir)).Take(func(b []byte) error {
		var s task.Slip
		if json.Unmarshal(b, &s) != nil {
			return nil // not one of ours: drop it
		}
		q := task.Request{Caller: task.Caller{Parent: s.Parent}, Notices: s.Read}
		if s.UserWrote {
			if _, err := r.UserWrote(q); err != nil {
				return err
			}
		}
		if _, err := r.Acknowledge(q); err != nil {
			return err
		}
		return r.link(s.Parent, s.Launched)
	})
	if err != nil {
		r.Log.Warn("taking in what hooks left", "err", err)
	}
}
