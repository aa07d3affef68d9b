package store_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whet-dev/whet/market/store"
	"github.com/whet-dev/whet/market/tree"
)

// The test binary is also the processes that the tests start and kill.
func TestMain(m *testing.M) {
	dir := os.Getenv("STORE_TEST_DIR")
	if dir == "" {
		os.Exit(m.Run())
	}
	rounds, _ := strconv.Atoi(os.Getenv("STORE_TEST_ROUNDS"))
	do := count
	if os.Getenv("STORE_TEST_WHAT") == "mix" {
		do = mix
	}
	s := &store.Store{Dir: filepath.Join(dir, "market"), Wait: time.Minute, NoSync: os.Getenv("WHET_SLOW") == ""}
	for i := range rounds {
		if err := do(s, dir, i); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if i == 0 {
			fmt.Println("at work")
		}
	}
}

func child(ctx context.Context, dir, what string, rounds int) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_DIR="+dir, "STORE_TEST_WHAT="+what, "STORE_TEST_ROUNDS="+strconv.Itoa(rounds))
	return cmd
}

// count adds one to a number that is kept as a package's size.
func count(s *store.Store, _ string, _ int) error {
	return s.Change(context.Background(), func(tx *store.Tx) error {
		p := packageOf(sample("v1"), "1.0.0")
		p.Bytes = tx.Packages[id].Bytes + 1
		tx.Packages[id] = p
		return nil
	})
}

const processes, rounds = 8, 50

func TestNoChangeIsLost(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			if out, err := child(t.Context(), dir, "count", rounds).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	l, err := (&store.Store{Dir: filepath.Join(dir, "market")}).Read()
	if err != nil || l.Packages[id].Bytes != processes*rounds || l.Generation != processes*rounds {
		t.Errorf("counted %d in generation %d, %v; want %d", l.Packages[id].Bytes, l.Generation, err, processes*rounds)
	}
}

// mix installs, updates and removes a random package. A configuration file
// lists what is installed, and changes together with it.
func mix(s *store.Store, dir string, i int) error {
	name := fmt.Sprintf("acme/p%d", rand.IntN(5))
	return s.Change(context.Background(), func(tx *store.Tx) error {
		before, err := os.ReadFile(filepath.Join(dir, "config", "list"))
		if errors.Is(err, os.ErrNotExist) {
			before, err = nil, nil
		}
		if err != nil {
			return err
		}
		lines := strings.Fields(string(before))
		if _, ok := tx.Packages[name]; ok && rand.IntN(2) == 0 {
			delete(tx.Packages, name)
			lines = slices.DeleteFunc(lines, func(l string) bool { return l == name })
		} else {
			files := tree.New([]tree.File{
				{Name: "plugin.json", Data: []byte(name + strconv.Itoa(i) + strconv.Itoa(os.Getpid()))},
				{Name: "a/b/c", Data: bytes.Repeat([]byte("x"), 5000)},
			})
			if err := tx.Put(name, files); err != nil {
				return err
			}
			tx.Packages[name] = packageOf(files, fmt.Sprint("1.0.", i))
			if !ok {
				lines = append(lines, name)
			}
		}
		if rand.IntN(8) == 0 {
			if _, err := tx.Collect(0, false); err != nil {
				return err
			}
		}
		after := []byte(strings.Join(lines, "\n") + "\n")
		if bytes.Equal(before, after) {
			return nil
		}
		return tx.Edit(store.Edit{Dir: filepath.Join(dir, "config"), Name: "list", Before: before, After: after})
	})
}

// A process that is killed at any moment leaves the state before its change or
// the one after it, and the next writer is not held up.
func TestKilled(t *testing.T) {
	kills := 60
	if os.Getenv("WHET_SLOW") != "" {
		kills = 500
	}
	dir := t.TempDir()
	s := &store.Store{Dir: filepath.Join(dir, "market"), Wait: 10 * time.Second, NoSync: true}
	midway := 0
	for i := range kills {
		cmd := child(t.Context(), dir, "mix", 1_000_000)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "at work\n" {
			t.Fatalf("process %d said %q, %v", i, line, err)
		}
		time.Sleep(time.Duration(rand.IntN(50_000)) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		if left, _ := filepath.Glob(filepath.Join(s.Dir, "staging", fmt.Sprint(cmd.Process.Pid, "-*"))); left != nil {
			midway++
		}
		before, err := s.Read()
		if err != nil {
			t.Fatalf("after kill %d: %v", i, err)
		}
		whole(t, s, before)
		if err := s.Change(t.Context(), func(*store.Tx) error { return nil }); err != nil {
			t.Fatalf("the next writer after kill %d: %v", i, err)
		}
		after, err := s.Read()
		if err != nil || after.Generation != before.Generation {
			t.Fatalf("recovery after kill %d: generation %d became %d, %v", i, before.Generation, after.Generation, err)
		}
		listed, _ := os.ReadFile(filepath.Join(dir, "config", "list"))
		names := strings.Fields(string(listed))
		slices.Sort(names)
		if !slices.Equal(names, after.IDs()) {
			t.Fatalf("after kill %d the configuration lists %q, and installed is %q", i, names, after.IDs())
		}
	}
	t.Logf("%d of %d processes were killed in the middle of a change", midway, kills)
	if midway == 0 {
		t.Error("no process was killed in the middle of a change")
	}
	if err := s.Change(t.Context(), func(tx *store.Tx) error { _, err := tx.Collect(-time.Hour, false); return err }); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Join(s.Dir, "staging")); len(left) > 0 {
		t.Errorf("left in staging: %v", left)
	}
	l, _ := s.Read()
	whole(t, s, l)
}

func whole(t *testing.T, s *store.Store, l *store.Lock) {
	t.Helper()
	for _, id := range l.IDs() {
		if found := s.Verify(id, l.Packages[id]); found != nil {
			t.Fatalf("%s: %v", id, found)
		}
	}
}

// What was left by a writer that died between the configuration and the lock
// file is taken back, unless a person has changed it since.
func TestTakenBack(t *testing.T) {
	for _, c := range []struct{ name, found, want string }{
		{"written", "new", "old"},
		{"not written", "old", "old"},
		{"changed since", "by hand", "by hand"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := &store.Store{Dir: filepath.Join(dir, "market"), NoSync: true}
			put(t, s, id, sample("v1"))
			config := filepath.Join(dir, "list")
			write(t, config, c.found)
			txn := fmt.Sprintf(`{"generation":1,"edits":[{"dir":%q,"name":"list","before":"b2xk","after":"bmV3"}]}`, dir)
			write(t, filepath.Join(s.Dir, "txn.json"), txn)
			if err := s.Change(t.Context(), func(*store.Tx) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(config); string(got) != c.want {
				t.Errorf("the configuration is %q, want %q", got, c.want)
			}
			if _, err := os.Stat(filepath.Join(s.Dir, "txn.json")); err == nil {
				t.Error("txn.json is still there")
			}
		})
	}
}

func TestEditRefusesWhatChanged(t *testing.T) {
	dir := t.TempDir()
	s := &store.Store{Dir: filepath.Join(dir, "market"), NoSync: true}
	write(t, filepath.Join(dir, "list"), "by hand")
	err := s.Change(t.Context(), func(tx *store.Tx) error {
		return tx.Edit(store.Edit{Dir: dir, Name: "list", Before: []byte("old"), After: []byte("new")})
	})
	if err == nil || !strings.Contains(err.Error(), "changed by another program") {
		t.Errorf("got %v", err)
	}
	// Between the edit's making and the commit.
	err = s.Change(t.Context(), func(tx *store.Tx) error {
		tx.Packages[id] = packageOf(sample("v1"), "1.0.0")
		err := tx.Edit(store.Edit{Dir: dir, Name: "list", Before: []byte("by hand"), After: []byte("new")})
		write(t, filepath.Join(dir, "list"), "by hand again")
		return err
	})
	if err == nil {
		t.Error("what another program wrote was replaced")
	}
	if l, _ := s.Read(); l.Generation != 0 {
		t.Error("half of a change was committed")
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "list")); string(got) != "by hand again" {
		t.Errorf("the file holds %q", got)
	}
}

// A store on a read-only disk can be read and says clearly that it can't be
// changed. Root may write everywhere, so that the test is a process of nobody.
func TestReadOnly(t *testing.T) {
	const nobody = "STORE_TEST_NOBODY"
	if dir := os.Getenv(nobody); dir != "" {
		s := &store.Store{Dir: dir}
		l, err := s.Read()
		fmt.Println(len(l.Packages), err, s.Verify(id, l.Packages[id]))
		fmt.Println(errors.Is(s.Change(context.Background(), func(*store.Tx) error { return nil }), os.ErrPermission))
		return
	}
	dir := filepath.Join(t.TempDir(), "market")
	s := &store.Store{Dir: dir, NoSync: true}
	put(t, s, id, sample("v1"))
	var locked []string
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			locked = append(locked, p)
		}
		return err
	})
	modes(locked, 0o555)
	defer modes(locked, 0o755)
	modes([]string{filepath.Join(dir, "lock.json"), filepath.Join(dir, "FORMAT"), filepath.Join(dir, "store.lock")}, 0o444)
	_ = filepath.WalkDir(filepath.Join(dir, "trees"), func(p string, d os.DirEntry, err error) error {
		if !d.IsDir() {
			modes([]string{p}, 0o444)
		}
		return err
	})
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReadOnly$", "-test.v")
	cmd.Env = append(os.Environ(), nobody+"="+dir)
	asNobody(t, cmd, dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	var got []string
	for lines.Scan() {
		if l := lines.Text(); !strings.HasPrefix(l, "=== ") && !strings.HasPrefix(l, "--- ") && l != "PASS" {
			got = append(got, l)
		}
	}
	if want := []string{"1 <nil> []", "true"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func modes(names []string, mode os.FileMode) {
	for _, n := range slices.Backward(names) {
		_ = os.Chmod(n, mode)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
