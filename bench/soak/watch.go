//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A watch samples the processes that live long.
type watch struct {
	l     *life
	began time.Time
	of    []*conn
	seen  map[string][]sample
}

// A sample is the state of a process at one moment.
type sample struct {
	at       float64 // seconds since the beginning
	memory   float64 // resident, MiB
	files    int     // open
	threads  int
	children int
}

// sample looks every second, or every thousandth of the run, until ctx is done.
func (w *watch) sample(ctx context.Context) {
	w.seen = map[string][]sample{}
	out := csv.NewWriter(w.l.csv)
	_ = out.Write([]string{"seconds", "process", "resident_mib", "open_files", "threads", "children", "calls"})
	t := time.NewTicker(max(time.Second, w.l.long/1000))
	defer t.Stop()
	told := time.Now()
	for {
		for _, c := range w.of {
			if !c.alive() {
				continue
			}
			pid := c.cmd.Process.Pid
			s := sample{at: time.Since(w.began).Seconds(), children: children(pid)}
			s.memory, s.files, s.threads = status(pid)
			w.seen[c.name] = append(w.seen[c.name], s)
			_ = out.Write([]string{fmt.Sprintf("%.1f", s.at), c.name, fmt.Sprintf("%.1f", s.memory), strconv.Itoa(s.files), strconv.Itoa(s.threads), strconv.Itoa(s.children), strconv.Itoa(w.l.counts.total())})
		}
		out.Flush()
		if w.l.every > 0 && time.Since(told) >= w.l.every {
			told = time.Now()
			w.progress()
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

func (w *watch) progress() {
	var b strings.Builder
	fmt.Fprintf(&b, "%v of %v: %d calls, %d faults", time.Since(w.began).Round(time.Second), w.l.long, w.l.counts.total(), w.l.faults.total())
	for _, c := range w.of {
		if seen := w.seen[c.name]; len(seen) > 0 {
			s := seen[len(seen)-1]
			fmt.Fprintf(&b, "; %s %.0f MiB, %d files, %d threads", c.name, s.memory, s.files, s.threads)
		}
	}
	fmt.Fprintln(w.l.out, b.String())
}

// status returns a process's resident memory in MiB, open files and threads.
func status(pid int) (memory float64, files, threads int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case len(f) > 1 && f[0] == "VmRSS:":
			kib, _ := strconv.Atoi(f[1])
			memory = float64(kib) / 1024
		case len(f) > 1 && f[0] == "Threads:":
			threads, _ = strconv.Atoi(f[1])
		}
	}
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return memory, len(open), threads
}

// children counts the processes that pid has started and that run still.
func children(pid int) (n int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, t := range tasks {
		b, _ := os.ReadFile(t)
		n += len(strings.Fields(string(b)))
	}
	return n
}

// marked lists the processes whose environment holds mark, or that work in dir:
// some are given an environment with nothing in it.
func marked(mark, dir string) (pids []int) {
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if bytes.Contains(env, []byte(mark)) || strings.HasPrefix(cwd, dir+"/") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stacks counts the goroutines in a dump of all stacks, by what started them.
func (t *tail) stacks() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	by := map[string]int{}
	for stack := range strings.SplitSeq(string(t.last), "\ngoroutine ") {
		if _, starter, ok := strings.Cut(stack, "\ncreated by "); ok {
			name, _, _ := strings.Cut(starter, " in goroutine")
			by[name]++
		}
	}
	return by
}
