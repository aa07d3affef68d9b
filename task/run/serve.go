package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/task"
)

// ErrRunning says that another runner has the state.
var ErrRunning = errors.New("another whet serve is running for this user")

// Lock takes the state in dir for this process, until unlock is called or the
// process ends.
func Lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(dir, "lock"))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	}
	if !ok {
		return nil, ErrRunning
	}
	return func() { _ = l.Unlock() }, nil
}

// Listen opens the runner's socket, for its user alone. The lock must be held:
// a socket that is there already is then a dead runner's.
func Listen(ctx context.Context, dir string) (net.Listener, error) {
	path := state.Socket(dir)
	// In a directory of somebody else, chmod fails.
	if err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o700), os.Chmod(filepath.Dir(path), 0o700)); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	return l, os.Chmod(path, 0o600)
}

// maxBody bounds a request, in bytes.
const maxBody = 1 << 20

// Serve answers requests on l until ctx ends, somebody asks it to stop, or
// there has been nothing to do for idle (0 means never).
func (r *Runner) Serve(ctx context.Context, l net.Listener, idle time.Duration) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var active atomic.Int64
	srv := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			active.Add(1)
			defer active.Add(-1)
			r.mu.Lock()
			r.touched = time.Now()
			r.mu.Unlock()
			r.answer(w, q, stop)
		}),
	}
	go func() {
		tick := time.NewTicker(max(min(time.Second, idle/4), 10*time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if idle > 0 && active.Load() == 0 && r.idle(idle) {
					stop()
				}
			case <-ctx.Done():
				r.stop() // whoever waits for a change is answered
				end, cancel := context.WithTimeout(context.Background(), 2*time.Second)
				defer cancel()
				_ = srv.Shutdown(end)
				return
			}
		}
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// idle reports whether nothing has been open or asked for that long.
func (r *Runner) idle(d time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.open {
		if !e.Phase.Closed() {
			return false
		}
	}
	return time.Since(r.touched) >= d
}

func (r *Runner) answer(w http.ResponseWriter, q *http.Request, stop func()) {
	var req task.Request
	if err := json.NewDecoder(http.MaxBytesReader(w, q.Body, maxBody)).Decode(&req); err != nil {
		write(w, http.StatusBadRequest, task.Errorf(task.BadRequest, "reading the request: %v", err))
		return
	}
	reply, err := r.Do(q.Context(), q.URL.Path, req)
	if q.URL.Path == "/stop" {
		defer stop()
	}
	var e *task.Error
	switch {
	case err == nil:
		write(w, http.StatusOK, reply)
	case errors.As(err, &e):
		write(w, http.StatusUnprocessableEntity, e)
	default:
		r.Log.Error("answering", "path", q.URL.Path, "err", err)
		write(w, http.StatusInternalServerError, task.Errorf(task.Internal, "whet's task runner is in trouble: %v", err))
	}
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(task.ProtocolHeader, strconv.Itoa(task.Protocol))
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that went away needs no answer
}

// Do answers one request, named as its path over the socket is.
func (r *Runner) Do(ctx context.Context, path string, q task.Request) (*task.Reply, error) {
	r.moved(q.Caller)
	now := map[string]func(task.Request) (*task.Reply, error){
		"/launch": r.Launch, "/status": r.Status, "/result": r.Result, "/message": r.Message,
		"/cancel": r.Cancel, "/revive": r.Revive, "/merge": r.Merge, "/list": r.List,
		"/wait-for-user": r.WaitForUser, "/user-wrote": r.UserWrote, "/acknowledge": r.Acknowledge,
		"/adopt": r.Adopt, "/collect": r.Collect, "/hello": r.hello, "/stop": r.hello,
	}
	waiting := map[string]func(task.Request, <-chan struct{}) (*task.Reply, error){
		"/notices": r.Notices, "/await": r.Await, "/watch": r.Watch, "/log": r.Lines,
	}
	if do := now[path]; do != nil {
		return do(q)
	}
	if do := waiting[path]; do != nil {
		return do(q, ctx.Done())
	}
	return nil, task.Errorf(task.BadRequest, "the runner knows no %q; it is whet %s, another version than you: whet serve --stop ends it when its tasks have ended", path, r.Version)
}

// hello says which runner this is, and how many tasks are open.
func (r *Runner) hello(task.Request) (*task.Reply, error) {
	reply, err := r.List(task.Request{})
	if err != nil {
		return nil, err
	}
	return &task.Reply{Open: reply.Open, Version: r.Version, PID: os.Getpid(), Protocol: task.Protocol}, nil
}
