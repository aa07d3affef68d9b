package agent

// Settings is the agent's section of the configuration. The zero value is the
// default.
type Settings struct {
	Model     string              `json:"model,omitempty" doc:"model of whet run unless --model names one: PROVIDER/NAME" layer:"user" eg:"anthropic/NAME"`
	Providers map[string]Provider `json:"providers,omitempty" doc:"endpoints by the name that models begin with; openai and anthropic are there already and can be changed" layer:"user"`
}

// A Provider is where models are served.
type Provider struct {
	API     string           `json:"api,omitempty" doc:"wire format: openai (chat completions, the default) or anthropic (messages)" enum:"openai,anthropic"`
	BaseURL string           `json:"baseURL,omitempty" doc:"address of the API" eg:"http://127.0.0.1:11434/v1"`
	KeyEnv  string           `json:"keyEnv,omitempty" doc:"environment variable that holds the key; none means that no key is sent"`
	Prices  map[string]Price `json:"prices,omitempty" doc:"prices by model name, for the cost count; whet knows none by itself"`
}

// A Price is what a model costs, in US dollars for a million tokens.
type Price struct {
	Input      float64 `json:"input,omitempty" doc:"US dollars for a million input tokens" min:"0"`
	Output     float64 `json:"output,omitempty" doc:"US dollars for a million output tokens" min:"0"`
	CacheRead  float64 `json:"cacheRead,omitempty" doc:"US dollars for a million tokens read from the vendor's cache" min:"0"`
	CacheWrite float64 `json:"cacheWrite,omitempty" doc:"US dollars for a million tokens written to it" min:"0"`
}

func (p Price) of(u Usage) float64 {
	const million = 1e6
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output +
		float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite) / million
}
