package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/whet-dev/whet"
	"github.com/whet-dev/whet/internal/atomicfile"
	"github.com/whet-dev/whet/internal/plainfile"
)

type writeInput struct {
	Path    string `json:"path" doc:"file, relative to the project or absolute" alias:"file_path,file,filename" eg:"src/new.go"`
	Content string `json:"content" doc:"everything that the file shall hold" alias:"text,contents,file_text"`
}

func writeTool() whet.Tool {
	t := whet.New("write", `Write a whole file, new or in place of the old one
Directories that are missing are made. To change a part of a file use edit.`, runWrite)
	t.Destructive, t.Idempotent, t.PathArg = true, true, "path"
	return t
}

// changed is what a call that wrote one file answers.
type changed struct {
	Path string `json:"path"`
	Text string `json:"text"`
	abs  string
}

func (o changed) String() string    { return o.Text }
func (o changed) Changed() []string { return []string{o.abs} }

func runWrite(ctx context.Context, c *whet.Call, in writeInput) (changed, error) {
	f, err := open(ctx, c.Session, in.Path, "edit")
	if err != nil {
		return changed{}, err
	}
	defer f.close()
	verb := "wrote"
	switch info, err := f.root.Stat(f.name); {
	case errors.Is(err, fs.ErrNotExist):
		verb = "created"
		if err := f.root.MkdirAll(filepath.Dir(f.name), 0o777); err != nil {
			return changed{}, fmt.Errorf("making the directory of %s: %w", f.show, plainfile.Cause(err))
		}
	case err != nil:
		return changed{}, fmt.Errorf("looking at %s: %w", f.show, plainfile.Cause(err))
	case !info.Mode().IsRegular():
		return changed{}, fmt.Errorf("%s is not a regular file (%v)", f.show, info.Mode())
	}
	if err := atomicfile.Write(f.root, f.name, []byte(in.Content)); err != nil {
		return changed{}, fmt.Errorf("writing %s: %w; it is as it was", f.show, plainfile.Cause(err))
	}
	lines := strings.Count(in.Content, "\n")
	if in.Content != "" && !strings.HasSuffix(in.Content, "\n") {
		lines++
	}
	return changed{f.show, fmt.Sprintf("%s %s: %d lines, %d bytes", verb, f.show, lines, len(in.Content)), f.abs}, nil
}
