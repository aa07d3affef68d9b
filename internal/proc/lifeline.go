package proc

import (
	"crypto/rand"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// LifeLine makes sure that what this process starts from now on is ended when
// this process ends, even if it is killed: guardian is a command that calls
// [Watch] with its standard input and last argument, and lives until then. The
// error says that there is no guardian; all else works without.
//
// Only on Linux is there anything to do. Windows ends a job's members itself,
// and other systems don't let us find them.
//
// Keep the line: it holds as long as it isn't closed or collected.
func LifeLine(guardian *exec.Cmd) (line io.Closer, err error) {
	if runtime.GOOS != "linux" {
		return io.NopCloser(nil), nil
	}
	mark := rand.Text()
	guardian.Args = append(guardian.Args, mark)
	guardian.Env = os.Environ() // without the mark: it must not find itself
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	guardian.Stdin = r
	apart(guardian)
	if err := guardian.Start(); err != nil {
		w.Close()
		return nil, err
	}
	return w, os.Setenv(markName, os.Getenv(markName)+":"+mark)
}

// Watch waits for the end of in and then ends every process that carries mark.
func Watch(in io.Reader, mark string) {
	_, _ = io.Copy(io.Discard, in)
	for range 100 { // it may be growing still
		if endMarked(mark) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
