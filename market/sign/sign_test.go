package sign_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"aead.dev/minisign"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/whet-dev/whet/market/sign"
	"github.com/whet-dev/whet/market/store"
	"github.com/whet-dev/whet/market/tree"
)

var statement = []byte("whet-package-v1\nid: acme/x\nversion: 1.0.0\ntree: sha256:00\n")

func TestVerify(t *testing.T) {
	pub, private, _ := ed25519.GenerateKey(rand.Reader)
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	sshPub, _ := ssh.NewPublicKey(pub)
	line := string(bytes.TrimSpace(ssh.MarshalAuthorizedKey(sshPub)))
	signSSH := func(text []byte, namespace string) []byte {
		s, err := sshsig.Sign(bytes.NewReader(text), signer, sshsig.HashSHA512, namespace)
		if err != nil {
			t.Fatal(err)
		}
		return sshsig.Armor(s)
	}
	miniPub, miniKey, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good, bad := signSSH(statement, sign.Namespace), signSSH([]byte("tampered"), sign.Namespace)
	mini := minisign.Sign(miniKey, statement)
	for _, c := range []struct {
		name, ssh, mini string // the files of keys
		files           map[string][]byte
		want            string
	}{
		{"none", "acme " + line, "", nil, "none"},
		{"ssh", "acme " + line, "", map[string][]byte{"a.sig": good}, "valid"},
		{"ssh with options", `acme namespaces="git,whet-*",valid-after="20200101Z" ` + line, "", map[string][]byte{"a.sig": good}, "valid"},
		{"ssh tampered", "acme " + line, "", map[string][]byte{"a.sig": bad}, "bad"},
		{"ssh of another namespace", "acme " + line, "", map[string][]byte{"a.sig": signSSH(statement, "git")}, "bad"},
		{"ssh unknown", "", "", map[string][]byte{"a.sig": good}, "untrusted-key"},
		{"ssh of another publisher", "beta,!acme " + line, "", map[string][]byte{"a.sig": good}, "untrusted-key"},
		{"ssh for another namespace only", `acme namespaces="git" ` + line, "", map[string][]byte{"a.sig": good}, "untrusted-key"},
		{"ssh expired", `acme valid-before="20200101" ` + line, "", map[string][]byte{"a.sig": good}, "untrusted-key"},
		{"ssh authority", "acme cert-authority " + line, "", map[string][]byte{"a.sig": good}, "untrusted-key"},
		{"ssh by pattern", "# a comment\n\n*,!beta " + line, "", map[string][]byte{"a.sig": good}, "valid"},
		{"ssh garbage", "acme " + line, "", map[string][]byte{"a.sig": []byte("-")}, "bad"},
		{"minisign", "", "acme " + miniPub.String(), map[string][]byte{"a.minisig": mini}, "valid"},
		{"minisign tampered", "", "acme " + miniPub.String(), map[string][]byte{"a.minisig": minisign.Sign(miniKey, []byte("tampered"))}, "bad"},
		{"minisign unknown", "", "", map[string][]byte{"a.minisig": mini}, "untrusted-key"},
		{"minisign of another publisher", "", "beta " + miniPub.String(), map[string][]byte{"a.minisig": mini}, "untrusted-key"},
		{"minisign garbage", "", "", map[string][]byte{"a.minisig": []byte("-")}, "bad"},
		{"one good, one bad", "acme " + line, "", map[string][]byte{"a.sig": good, "b.sig": bad}, "bad"},
		{"other files", "acme " + line, "", map[string][]byte{"README": []byte("-")}, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "allowed_signers"), c.ssh)
			write(t, filepath.Join(dir, "allowed_minisign"), c.mini)
			files := []tree.File{{Name: "plugin.json"}}
			for name, data := range c.files {
				files = append(files, tree.File{Name: tree.SignatureDir + name, Data: data})
			}
			got, err := sign.Keys{Dir: dir}.Verify(statement, "acme", tree.New(files))
			if err != nil || got.Status != c.want {
				t.Errorf("got %+v, %v; want %s", got, err, c.want)
			}
			if (got.Principal == "acme") != (c.want == "valid") {
				t.Errorf("principal %q with %s", got.Principal, got.Status)
			}
		})
	}
}

func TestKnown(t *testing.T) {
	dir := t.TempDir()
	if (sign.Keys{Dir: dir}).Known("acme") || (sign.Keys{}).Known("acme") {
		t.Error("a key is known where there is no file")
	}
	write(t, filepath.Join(dir, "allowed_signers"), "acme no key\n")
	if _, err := (sign.Keys{Dir: dir}).Verify(statement, "acme", nil); err == nil {
		t.Error("a broken line is no error")
	}
}

// The real programs make the signatures.
func TestPeerSignatures(t *testing.T) {
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("needs ssh-keygen")
	}
	dir := t.TempDir()
	key, text := filepath.Join(dir, "key"), filepath.Join(dir, "statement")
	write(t, text, string(statement))
	for _, args := range [][]string{
		{"-q", "-t", "ed25519", "-N", "", "-f", key},
		{"-q", "-Y", "sign", "-n", sign.Namespace, "-f", key, text},
	} {
		if out, err := exec.CommandContext(t.Context(), keygen, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	pub, _ := os.ReadFile(key + ".pub")
	sig, _ := os.ReadFile(text + ".sig")
	write(t, filepath.Join(dir, "allowed_signers"), "acme "+string(pub))
	signed := tree.Tree{{Name: tree.SignatureDir + "acme.sig", Data: sig}}
	got, err := sign.Keys{Dir: dir}.Verify(statement, "acme", signed)
	if want := (store.Signature{Status: "valid", Kind: "ssh", Key: got.Key, Principal: "acme"}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if got, _ := (sign.Keys{Dir: dir}).Verify([]byte("other"), "acme", signed); got.Status != "bad" {
		t.Errorf("of another statement: %+v", got)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
