// Package mail brings a session what the task runner has for it, through files
// alone: a hook, which is a process for each event, has no time to ask anybody.
//
// The runner keeps a file for each session with its board and the notices that
// wait; what the session has read is left for the runner in a spool.
package mail

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/state"
	"github.com/whet-dev/whet/task"
)

// Dir returns the user's own directory for tasks.
func Dir() (string, error) {
	root, err := state.Root()
	return filepath.Join(root, "tasks"), err
}

// Parent is how the runner calls a session. One without an id is its
// directory's.
func Parent(s whet.Session) string {
	if s.ID == "" {
		return s.Host + ":" + s.Dir
	}
	return s.Host + "/" + s.ID
}

// Guard keeps a session, a task's own or any other, from changing files that
// another task at work owns or has changed behind its back, and a task that has
// a worktree from changing anything in the checkout that this was made from. It
// tells a session of its tasks: each end once, after whatever tool it
// uses next or when a person writes, and the board when a person writes. It
// keeps a model from ending its turn only for an end that it was never told of,
// and never because tasks are still running.
//
// What was told counts as read when the session calls again: then the model has
// had it in a request.
func Guard(wake task.Wake) whet.Guard {
	return whet.Guard{
		Name: "task",
		Before: func(_ context.Context, c *whet.Call) error {
			if slices.Contains(editors, c.Tool) {
				return mayEdit(c)
			}
			return nil
		},
		After: func(_ context.Context, c *whet.Call, r *whet.Result) error {
			dir, claims := atWork()
			linked := errors.Join(link(c, r), noted(c, r, dir, claims))
			if slices.Contains(editors, c.Tool) && !r.Failed {
				astray(c, r, claims)
			}
			text, err := news(c.Session, false)
			if text != "" {
				r.Note("%s", text)
			}
			return errors.Join(linked, err)
		},
		Prompt: func(_ context.Context, s whet.Session) (string, error) { return news(s, true) },
		Idle: func(_ context.Context, s whet.Session) (string, error) {
			if m, _ := Read(Parent(s)); m.Waiting || !wake.Ends() {
				return "", nil
			}
			return news(s, false)
		},
	}
}

// Read returns what the runner has for a session; ok tells whether there is
// anything.
func Read(parent string) (m task.Mail, ok bool) {
	dir, err := Dir()
	if err != nil {
		return m, false
	}
	b, err := os.ReadFile(task.MailFile(dir, parent))
	return m, err == nil && json.Unmarshal(b, &m) == nil
}

// Acknowledge leaves word for the runner that a session has read the notices.
func Acknowledge(parent string, notices []string) error {
	return leave(task.Slip{Parent: parent, Read: notices})
}

// news returns what the session has not been told of, and reports to the runner
// what it has been told of before. person says that a person wrote.
func news(s whet.Session, person bool) (string, error) {
	m, ok := Read(Parent(s))
	if !ok {
		return "", nil
	}
	fresh, known, err := Sort(s, m.Notices)
	slip := task.Slip{Parent: Parent(s), Read: known, UserWrote: person && m.Waiting}
	if len(slip.Read) > 0 || slip.UserWrote {
		err = errors.Join(err, leave(slip))
	}
	if person && m.Board != "" {
		fresh = append(fresh, m.Board)
	}
	return strings.Join(fresh, "\n\n"), err
}

// Sort returns the texts of the notices that the session has not been told of,
// which it then has, and the ids of those that it has.
func Sort(s whet.Session, notices []task.Notice) (fresh, known []string, err error) {
	err = Told(s, func(told []string) (now []string) {
		for _, n := range notices {
			now = append(now, n.ID)
			if slices.Contains(told, n.ID) {
				known = append(known, n.ID)
			} else {
				fresh = append(fresh, n.Text)
			}
		}
		return now
	})
	return fresh, known, err
}

// Told changes the list of the notices that the session has been told of, by
// their ids.
func Told(s whet.Session, f func([]string) []string) error {
	return whet.Update(s, "task-told", func(told *[]string) error {
		*told = f(*told)
		return nil
	})
}

// leave puts a slip where the runner finds it.
func leave(s task.Slip) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return state.Spool(task.SlipDir(dir)).Put(b)
}

// link tells the runner that a task which this session launched through our MCP
// server, where the session has no name, is this session's.
func link(c *whet.Call, r *whet.Result) error {
	if c.Tool != "task" || c.Session.ID == "" {
		return nil
	}
	if id := launched(r.Text); id != "" {
		return leave(task.Slip{Parent: Parent(c.Session), Launched: id})
	}
	return nil
}

// launched finds the task's id in a launch's answer, however the host quoted it.
func launched(text string) string {
	_, rest, ok := strings.Cut(text, "<task id=")
	id := strings.TrimLeft(rest, `\"`)
	if end := strings.IndexAny(id, `\"`); ok && end > 0 && strings.HasPrefix(id, "tsk_") {
		return id[:end]
	}
	return ""
}

// editors are the tools that change the files that they name.
var editors = []string{"edit", "write", "apply_patch", "ast_grep_replace"}

// atWork returns the runner's directory, and what the tasks at work claim.
func atWork() (dir string, claims []task.Claim) {
	dir, err := Dir()
	if err != nil {
		return "", nil
	}
	b, err := os.ReadFile(task.ClaimFile(dir))
	if err != nil || json.Unmarshal(b, &claims) != nil {
		return dir, nil // nobody owns anything
	}
	return dir, claims
}

// mine reports whether the session is the claim's task: by either name of its
// conversation, or because it works in the task's own worktree.
func mine(c task.Claim, s whet.Session) bool {
	if s.ID != "" && (s.ID == c.Task || s.ID == c.Session) {
		return true
	}
	_, inside := task.Inside(c.Dir, s.Dir)
	return c.Main != "" && s.Dir != "" && inside
}

func absolute(s whet.Session, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(s.Dir, name)
}

// mayEdit refuses a call that would change a file that another task owns, that
// lies outside the task's own worktree or, where that is strict, of the files that
// it was given, or that has changed since it was read.
// Commands can't be looked through: what they change is found afterwards.
func mayEdit(c *whet.Call) error {
	dir, claims := atWork()
	if len(claims) == 0 {
		return nil
	}
	for _, name := range named(c) {
		path := absolute(c.Session, name)
		for _, cl := range claims {
			if mine(cl, c.Session) {
				if err := ownTree(c.Tool, name, path, cl); err != nil {
					return err
				}
				if cl.Strict && cl.Leaves(path) {
					return whet.Refuse("%s was not called: %s is none of the files that this task was given (%s). Say in your answer what should change there.", c.Tool, name, strings.Join(cl.Files, ", "))
				}
			} else if cl.Owns(path) {
				return whet.Refuse("%s was not called: %s belongs to %s (the %s, %s) until that ends. Leave it alone, or do it afterwards.", c.Tool, name, cl.Alias, cl.Agent, cl.Task)
			}
		}
	}
	return fresh(c, dir, claims)
}

// astray tells a task that it has changed a file which it wasn't given.
func astray(c *whet.Call, r *whet.Result, claims []task.Claim) {
	for _, cl := range claims {
		if !mine(cl, c.Session) {
			continue
		}
		for _, name := range named(c) {
			if cl.Leaves(absolute(c.Session, name)) {
				r.Note("%s is none of the files that this task was given (%s): others may be at work on it. Say in your answer that you changed it.", name, strings.Join(cl.Files, ", "))
			}
		}
	}
}

// ownTree keeps a task in its worktree, also where links lead out of it.
func ownTree(tool, name, path string, cl task.Claim) error {
	if cl.Main == "" {
		return nil
	}
	for _, at := range [][2]string{{cl.Main, path}, {real(cl.Main), real(path)}} {
		rel, main := task.Inside(at[0], at[1])
		if main && !within(cl.Dir, at[1]) && !within(real(cl.Dir), at[1]) {
			return whet.Refuse("%s was not called: %s is in the project's own checkout, and you work in a worktree of it. Use %s, and leave the project alone: your changes are merged later.", tool, name, filepath.Join(cl.Dir, rel))
		}
	}
	return nil
}

func within(dir, path string) bool { _, ok := task.Inside(dir, path); return ok }

// real is the path with the links in the part of it that exists followed.
func real(path string) string {
	for up := path; ; up = filepath.Dir(up) {
		if p, err := filepath.EvalSymlinks(up); err == nil {
			rest, _ := filepath.Rel(up, path) // below it
			return filepath.Join(p, rest)
		}
		if up == filepath.Dir(up) {
			return path
		}
	}
}

// named lists the files that a call names: its path, and those in a patch.
func named(c *whet.Call) (files []string) {
	if c.Path != "" {
		files = append(files, c.Path)
	}
	var args map[string]any
	if json.Unmarshal(c.Args, &args) != nil {
		return files
	}
	for _, key := range []string{"path", "file_path", "filePath"} {
		if s, ok := args[key].(string); ok && s != c.Path {
			files = append(files, s)
		}
	}
	for _, v := range args {
		patch, ok := v.(string)
		if !ok || !strings.Contains(patch, "*** ") {
			continue
		}
		for line := range strings.Lines(patch) {
			for _, head := range []string{"*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "} {
				if f, ok := strings.CutPrefix(strings.TrimSpace(line), head); ok {
					files = append(files, strings.TrimSpace(f))
				}
			}
		}
	}
	return files
}
