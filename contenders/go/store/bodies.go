package store

import (
	"os"
	"path/filepath"
)

// Bodies reads the texts of several lengths in $FILES, by their paths.
func Bodies() (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(os.Getenv("FILES"), "body", "*"))
	if err != nil {
		return nil, err
	}
	bodies := make(map[string]string, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		bodies["/body/"+filepath.Base(file)] = string(text)
	}
	return bodies, nil
}
