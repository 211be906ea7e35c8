// Plays what Ollama documents of its templates: reads cases as JSON, writes what each renders to.
//
// Messages of equal roles in a row are joined by an empty line, .System is every system message
// joined, .Response is empty, a missing key is the zero value. Standard library only.
package main

import (
	"encoding/json"
	"os"
	"strings"
	"text/template"
)

type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type Case struct {
	Template string    `json:"template"`
	Messages []Message `json:"messages"`
}

type Result struct {
	Text  string `json:"text"`
	Error string `json:"error"`
}

func collate(messages []Message) (string, []*Message) {
	var system []string
	var joined []*Message
	for _, message := range messages {
		if message.Role == "system" {
			system = append(system, message.Content)
		}
		last := len(joined) - 1
		if last >= 0 && joined[last].Role == message.Role {
			joined[last].Content += "\n\n" + message.Content
		} else {
			copied := message
			joined = append(joined, &copied)
		}
	}
	return strings.Join(system, "\n\n"), joined
}

func render(given Case) Result {
	parsed, err := template.New("").Option("missingkey=zero").Parse(given.Template)
	if err != nil {
		return Result{Error: err.Error()}
	}
	system, messages := collate(given.Messages)
	values := map[string]any{"System": system, "Messages": messages, "Response": ""}
	var text strings.Builder
	if err := parsed.Execute(&text, values); err != nil {
		return Result{Error: err.Error()}
	}
	return Result{Text: text.String()}
}

func main() {
	var cases []Case
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	results := make([]Result, 0, len(cases))
	for _, given := range cases {
		results = append(results, render(given))
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(results); err != nil {
		panic(err)
	}
}
