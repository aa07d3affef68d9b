package astgrep

// Options are the settings of structural search.
type Options struct {
	Path           string `json:"path,omitempty" doc:"the ast-grep to use; else the one on PATH or in whet's own folder" layer:"user"`
	TimeoutSeconds int    `json:"timeoutSeconds,omitempty" doc:"how long one search may take, 300 if left out" min:"1" max:"3600"`
}
