// Package sign checks who vouches for a marketplace package: detached
// signatures by SSH keys, as ssh-keygen -Y sign makes them, and by minisign.
// It signs nothing and knows only the keys that a person has put into two files.
package sign

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aead.dev/minisign"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/whet-dev/whet/market/store"
	"github.com/whet-dev/whet/market/tree"
)

// Namespace keeps a signature made for something else from counting here.
const Namespace = "whet-package"

// Keys are a person's files of known keys in Dir, "" for none:
//
//	allowed_signers    OpenSSH's format: PRINCIPALS [OPTIONS] KEYTYPE KEY
//	allowed_minisign   a line for each key: PRINCIPALS KEY
//
// The principal of a key is the publisher of the packages that it may sign. Of
// OpenSSH's options, namespaces, valid-after and valid-before are obeyed;
// certificate authorities are not supported.
type Keys struct{ Dir string }

type key struct {
	principals string
	ssh        ssh.PublicKey
	mini       minisign.PublicKey
}

// Known reports whether there is a key of the publisher.
func (k Keys) Known(publisher string) bool {
	all, err := k.read()
	return err == nil && slices.ContainsFunc(all, func(x key) bool { return x.of(publisher) })
}

// Verify checks the signatures in a package's [tree.SignatureDir] against the
// statement. One that is wrong outweighs others that are right.
func (k Keys) Verify(statement []byte, publisher string, t tree.Tree) (store.Signature, error) {
	all, err := k.read()
	if err != nil {
		return store.Signature{}, err
	}
	best := store.Signature{Status: "none"}
	rank := []string{"none", "untrusted-key", "valid", "bad"}
	for _, f := range t {
		if !strings.HasPrefix(f.Name, tree.SignatureDir) {
			continue
		}
		var got store.Signature
		switch path.Ext(f.Name) {
		case ".sig":
			got = checkSSH(all, statement, publisher, f.Data)
		case ".minisig":
			got = checkMinisign(all, statement, publisher, f.Data)
		default:
			continue
		}
		if slices.Index(rank, got.Status) > slices.Index(rank, best.Status) {
			best = got
		}
	}
	return best, nil
}

func checkSSH(all []key, statement []byte, publisher string, sig []byte) store.Signature {
	out := store.Signature{Status: "bad", Kind: "ssh"}
	s, err := sshsig.Unarmor(sig)
	if err != nil {
		return out
	}
	out.Key = ssh.FingerprintSHA256(s.PublicKey)
	if s.Namespace != Namespace || sshsig.Verify(bytes.NewReader(statement), s, s.PublicKey, s.HashAlgorithm, Namespace) != nil {
		return out
	}
	out.Status = "untrusted-key"
	for _, k := range all {
		if k.ssh != nil && bytes.Equal(k.ssh.Marshal(), s.PublicKey.Marshal()) && k.of(publisher) {
			out.Status, out.Principal = "valid", publisher
		}
	}
	return out
}

func checkMinisign(all []key, statement []byte, publisher string, sig []byte) store.Signature {
	out := store.Signature{Status: "bad", Kind: "minisign"}
	var s minisign.Signature
	if s.UnmarshalText(sig) != nil {
		return out
	}
	out.Key = fmt.Sprintf("%X", s.KeyID)
	out.Status = "untrusted-key"
	for _, k := range all {
		if k.ssh != nil || k.mini.ID() != s.KeyID || !k.of(publisher) {
			continue
		}
		if !minisign.Verify(k.mini, statement, sig) {
			out.Status = "bad"
			return out
		}
		out.Status, out.Principal = "valid", publisher
	}
	return out
}

// of reports whether the key is the publisher's, by OpenSSH's list of patterns.
func (k key) of(publisher string) bool {
	match := false
	for p := range strings.SplitSeq(k.principals, ",") {
		bare, not := strings.CutPrefix(p, "!")
		if ok, err := path.Match(bare, publisher); err != nil || !ok {
			continue
		}
		if not {
			return false
		}
		match = true
	}
	return match
}

func (k Keys) read() (all []key, err error) {
	err = k.lines("allowed_signers", func(principals, rest string) error {
		pub, _, options, _, err := ssh.ParseAuthorizedKey([]byte(rest))
		if err == nil && allowed(options, time.Now()) {
			all = append(all, key{principals: principals, ssh: pub})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, k.lines("allowed_minisign", func(principals, rest string) error {
		var pub minisign.PublicKey
		err := pub.UnmarshalText([]byte(strings.TrimSpace(rest)))
		all = append(all, key{principals: principals, mini: pub})
		return err
	})
}

// lines calls f with the first word and the rest of each line.
func (k Keys) lines(name string, f func(first, rest string) error) error {
	if k.Dir == "" {
		return nil
	}
	file := filepath.Join(k.Dir, name)
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		first, rest, _ := strings.Cut(line, " ")
		if err := f(strings.Trim(first, `"`), rest); err != nil {
			return fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	return nil
}

// allowed applies a line's options.
func allowed(options []string, now time.Time) bool {
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		value = strings.Trim(value, `"`)
		switch strings.ToLower(name) {
		case "namespaces":
			if !(key{principals: value}).of(Namespace) {
				return false
			}
		case "valid-after":
			if at, err := moment(value); err != nil || now.Before(at) {
				return false
			}
		case "valid-before":
			if at, err := moment(value); err != nil || !now.Before(at) {
				return false
			}
		default: // cert-authority, and what comes after our time
			return false
		}
	}
	return true
}

// moment reads OpenSSH's YYYYMMDD[HHMM[SS]][Z].
func moment(s string) (time.Time, error) {
	zone := time.Local
	if z, ok := strings.CutSuffix(s, "Z"); ok {
		s, zone = z, time.UTC
	}
	forms := map[int]string{8: "20060102", 12: "200601021504", 14: "20060102150405"}
	return time.ParseInLocation(cmp.Or(forms[len(s)], "invalid"), s, zone)
}
