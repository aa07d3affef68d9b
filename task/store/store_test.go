package store_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whet-dev/whet/task"
	"github.com/whet-dev/whet/task/store"
)

// The test binary is also the writer that gets killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("STORE_TEST_DIR"); dir != "" {
		fmt.Fprintln(os.Stderr, writeForEver(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeForEver says on standard output what has been kept.
func writeForEver(dir string) error {
	s, err := store.Open(dir)
	if err != nil {
		return err
	}
	t := sample(strconv.Itoa(os.Getpid()))
	if err := s.Create(t, "fix"); err != nil {
		return err
	}
	for i := 0; ; i++ {
		t.Text = strconv.Itoa(i)
		if err := s.Commit(store.Change{Task: t, Kind: "text", Body: i}); err != nil {
			return err
		}
		fmt.Println(t.ID, i)
	}
}

func sample(id string) *task.Task {
	return &task.Task{ID: "tsk_" + id, Parent: "p", Agent: "fixer", Title: "t", Job: task.New(), Created: time.Now().UTC().Truncate(time.Millisecond)}
}

func open(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func get[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		must(t, err)
		return v
	}
}

func TestEverythingComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a dir with ? and % in it")
	s := open(t, dir)
	a, b, other := sample("a"), sample("b"), sample("c")
	other.Parent = "q"
	for _, x := range []*task.Task{a, b, other} {
		must(t, s.Create(x, "fix"))
	}
	if a.Alias != "fix-1" || b.Alias != "fix-2" || other.Alias != "fix-1" {
		t.Errorf("aliases %s %s %s", a.Alias, b.Alias, other.Alias)
	}
	a.Job, _ = task.Apply(a.Job, a.Event(task.WantCancel))
	notice := task.NoticeOf(a, nil)
	note := store.Note{ID: "1", Task: a.ID, Gen: 1, Text: "hello", State: store.NoteQueued}
	must(t, s.Commit(store.Change{Task: a, Kind: "cancel", Body: "why", Notice: &notice, Notes: []store.Note{note}}))
	note.State = store.NoteReturned
	must(t, s.Commit(store.Change{Task: a, Notes: []store.Note{note}}))
	must(t, s.Append(a.ID, 1, "call", map[string]int{"n": 1}))
	must(t, s.AddRows(a.ID, store.Row{Gen: 1, Kind: "user", Body: []byte("x")}, store.Row{Gen: 1, Kind: "assistant", Body: []byte("y")}))
	must(t, s.AddRows(a.ID, store.Row{Gen: 2, Kind: "user", Body: []byte("z")}))
	wait := store.Wait{Since: time.UnixMilli(1000).UTC(), Reason: "which one?"}
	must(t, s.SetWait("p", &wait))
	must(t, s.SetWait("q", &wait))
	must(t, s.SetWait("q", nil))
	must(t, s.Link("p", "host/session"))
	must(t, s.Close())

	s = open(t, dir)
	same(t, []*task.Task{a, b, other}, get[[]*task.Task](t)(s.Tasks()))
	same(t, map[string]task.Notice{a.ID: notice}, get[map[string]task.Notice](t)(s.Notices()))
	same(t, []store.Note{note}, get[[]store.Note](t)(s.Notes(a.ID)))
	same(t, map[string]store.Wait{"p": wait}, get[map[string]store.Wait](t)(s.Waits()))
	same(t, map[string]string{"p": "host/session"}, get[map[string]string](t)(s.Links()))
	var rows string
	for _, r := range get[[]store.Row](t)(s.Rows(a.ID)) {
		rows += fmt.Sprintf("%d %s %s;", r.Gen, r.Kind, r.Body)
	}
	same(t, "1 user x;1 assistant y;2 user z;", rows)
	var log string
	for _, e := range get[[]store.Entry](t)(s.Log(a.ID, 0, 10)) {
		log += e.Kind + " " + e.Body + ";"
	}
	same(t, `launched null;cancel "why";call {"n":1};`, log)

	must(t, s.Commit(store.Change{Task: a, Settled: true}))
	if n := get[map[string]task.Notice](t)(s.Notices()); len(n) > 0 {
		t.Errorf("settled, and still there: %v", n)
	}
	// An alias is never given twice, even if its task is forgotten.
	must(t, s.Forget(a.ID, b.ID))
	next := sample("d")
	must(t, s.Create(next, "fix"))
	same(t, "fix-3", next.Alias)
	same(t, []*task.Task{other, next}, get[[]*task.Task](t)(s.Tasks()))
	if rows := get[[]store.Row](t)(s.Rows(a.ID)); len(rows) > 0 {
		t.Errorf("the journal of a forgotten task: %v", rows)
	}
}

func same[T any](t *testing.T, want, got T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// What a killed writer said that it had kept is there.
func TestKilledWriterLosesNothing(t *testing.T) {
	rounds := 25
	if testing.Short() {
		rounds = 5
	}
	dir := t.TempDir()
	kept := map[string]int{}
	for range rounds {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "STORE_TEST_DIR="+dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		var timer *time.Timer
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if timer == nil { // it writes
				timer = time.AfterFunc(time.Duration(rand.IntN(60))*time.Millisecond, func() { _ = cmd.Process.Kill() })
			}
			if id, n, ok := strings.Cut(lines.Text(), " "); ok {
				kept[id], err = strconv.Atoi(n)
				must(t, err)
			}
		}
		_ = cmd.Wait()
	}
	if len(kept) < rounds/2 {
		t.Fatalf("only %d writers got as far as writing", len(kept))
	}
	s := open(t, dir)
	if s.Damaged() != "" {
		t.Fatal("a killed writer left a damaged database")
	}
	tasks := map[string]int{}
	for _, x := range get[[]*task.Task](t)(s.Tasks()) {
		n, _ := strconv.Atoi(x.Text)
		tasks[x.ID] = n
	}
	for id, n := range kept {
		log := get[[]store.Entry](t)(s.Log(id, 0, 1<<20))
		// One more than was said is right: it was killed before saying it.
		if got := len(log) - 2; got != n && got != n+1 || tasks[id] != got {
			t.Errorf("%s: the writer kept %d; the log has %d, the task says %d", id, n, got, tasks[id])
		}
	}
}

func TestDamagedDatabaseIsSetAside(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"no database at all": func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("not a database. ", 100)), 0o600)
		},
		"a page overwritten": func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			copy(b[4096:8192], make([]byte, 4096))
			return os.WriteFile(path, b, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			must(t, s.Create(sample("a"), "fix"))
			must(t, s.Close())
			must(t, spoil(filepath.Join(dir, "tasks.db")))
			s = open(t, dir)
			if _, err := os.Stat(s.Damaged()); err != nil {
				t.Fatalf("Damaged() = %q: %v", s.Damaged(), err)
			}
			must(t, s.Create(sample("b"), "fix"))
		})
	}
}

func TestNewerDatabaseIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	must(t, s.Close())
	path := filepath.Join(dir, "tasks.db")
	b := get[[]byte](t)(os.ReadFile(path))
	b[63] = 99 // user_version, big-endian at 60
	must(t, os.WriteFile(path, b, 0o600))
	if _, err := store.Open(dir); err == nil || !strings.Contains(err.Error(), "newer whet") {
		t.Errorf("got %v", err)
	}
	same(t, b, get[[]byte](t)(os.ReadFile(path)))
}

// On a full disk nothing new is launched, what runs can be ended, and nothing
// that was kept is lost.
func TestFullDisk(t *testing.T) {
	dir := smallDisk(t)
	s := open(t, dir)
	running := sample("running")
	must(t, s.Create(running, "fix"))
	var err error
	kept := 0
	for ; err == nil; kept++ {
		filler := sample(fmt.Sprintf("filler%05d", kept))
		filler.Prompt = strings.Repeat("x", 4000)
		err = s.Create(filler, "exp")
	}
	kept-- // the last one was refused
	if !errors.Is(err, store.ErrFull) {
		t.Fatalf("the disk is full, and the error is %v", err)
	}
	if err := s.Create(sample("new"), "fix"); !errors.Is(err, store.ErrFull) {
		t.Errorf("a launch on a full disk: %v", err)
	}
	for range 20 {
		running.Text += "the end "
		must(t, s.Commit(store.Change{Task: running, Kind: "done"}))
	}
	must(t, s.Close())
	s = open(t, dir)
	if s.Damaged() != "" {
		t.Fatal("damaged")
	}
	tasks := get[[]*task.Task](t)(s.Tasks())
	if len(tasks) != kept+1 || tasks[kept].Text != running.Text {
		t.Errorf("%d tasks, want %d", len(tasks), kept+1)
	}
	// Once there is room again, so are launches.
	var ids []string
	for _, x := range tasks[:kept] {
		ids = append(ids, x.ID)
	}
	must(t, os.RemoveAll(filepath.Join(dir, "ballast")))
	must(t, s.Forget(ids...))
	must(t, s.Create(sample("new"), "fix"))
}

func BenchmarkCommit(b *testing.B) {
	s, err := store.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	t := sample("a")
	if err := s.Create(t, "fix"); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Commit(store.Change{Task: t, Kind: "busy"}); err != nil {
			b.Fatal(err)
		}
	}
}
