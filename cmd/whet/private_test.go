//go:build unix

package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/whet-dev/whet/internal/scriptmodel"
	"github.com/whet-dev/whet/task"
)

// Whatever whet keeps, sockets and logs too, is for its user alone, however
// careless the umask.
func TestStateIsPrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	s := newStage(t, scriptmodel.Script{"work": {{Text: "Done."}}})
	log := filepath.Join(filepath.Dir(s.client.Dir), "whet.log")
	s.env = append(s.env, "WHET_LOG="+log, "XDG_CACHE_HOME="+filepath.Join(filepath.Dir(s.client.Dir), "cache"))
	s.serve()
	if _, err := s.ask("/launch", task.Request{Worker: "explorer", Text: "[[script:work]]", Title: "x"}); err != nil {
		t.Fatal(err)
	}
	for _, event := range []string{
		`{"session_id":"s","cwd":` + strconv.Quote(s.dir) + `,"hook_event_name":"PostToolUse","tool_name":"Grep","tool_input":{"pattern":"x"},"tool_response":"y","tool_use_id":"1"}`,
		`{"cwd": 1`,
	} {
		c := exec.Command(whetBinary(t), "hook", "claude-code")
		c.Env, c.Dir, c.Stdin = s.env, s.dir, strings.NewReader(event)
		_ = c.Run() // the second is no event
	}
	seen := 0
	err := filepath.WalkDir(filepath.Dir(s.client.Dir), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(p)
		if err != nil {
			return nil // gone meanwhile
		}
		seen++
		if d.Name() == "lock" && info.Size() == 0 {
			return nil // holds nothing, and its directory is private
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v", p, info.Mode())
		}
		return nil
	})
	if err != nil || seen < 6 {
		t.Errorf("%d files, %v", seen, err)
	}
}
