package trace

import (
	"slices"
	"strings"

	"github.com/stratalog/strata/segment"
)

// lazy follows which indexes Kafka has. It makes those of a new segment when they are first looked at, ours
// are there at once. The digests of its directory tell.
type lazy struct {
	missing []string         // of the active segment
	ours    map[string]File  // indexes after the last operation
	theirs  map[string]File  // the same in Kafka's directory
	instead map[string]*File // of deleted segments, where they differ: what Kafka has, nil where it has none
}

// files are ours, as Kafka has them if its digest is dir: with indexes of the active segment that it has not
// made yet, and such of deleted segments that it never made. Where no choice of those fits, they are as they
// were.
func (z *lazy) files(ours []File, active int64, dir string) []File {
	candidates := []string{
		segment.FileName(active, segment.IndexExt, segment.Live), segment.FileName(active, segment.TimeIndexExt, segment.Live),
	}
	was := slices.DeleteFunc(slices.Clone(z.missing), func(name string) bool { return !slices.Contains(candidates, name) })
	kept, never := z.deleted(ours)
	missing, instead := was, never
search:
	for _, i := range []map[string]*File{never, kept} {
		for _, m := range [][]string{was, nil, candidates, candidates[:1], candidates[1:]} {
			z.missing, z.instead = m, i
			if _, got := digests(z.without(ours, m)); got == dir {
				missing, instead = m, i
				break search
			}
		}
	}
	z.missing, z.instead = missing, instead
	files := z.without(ours, missing)
	z.ours, z.theirs = indexes(ours), indexes(files)
	return files
}

// deleted are what Kafka has instead of indexes of deleted segments: kept, if it made those that were missing
// before they were renamed, and never, if it did not and what was there under that name stays.
func (z *lazy) deleted(ours []File) (kept, never map[string]*File) {
	kept, never = map[string]*File{}, map[string]*File{}
	for name, f := range indexes(ours) {
		live, deleted := strings.CutSuffix(name, string(segment.Deleted))
		if !deleted {
			continue
		}
		if was, ok := z.ours[name]; ok && was == f {
			if other, differs := z.instead[name]; differs {
				kept[name], never[name] = other, other
			}
			continue
		}
		if !slices.Contains(z.missing, live) {
			continue
		}
		never[name] = nil
		if was, ok := z.theirs[name]; ok {
			never[name] = &was
		}
	}
	return kept, never
}

// without are the files with what Kafka has instead, and without the missing ones.
func (z *lazy) without(files []File, missing []string) []File {
	var all []File
	for _, f := range files {
		other, differs := z.instead[f.Name]
		switch {
		case slices.Contains(missing, f.Name), differs && other == nil:
		case differs:
			all = append(all, *other)
		default:
			all = append(all, f)
		}
	}
	return all
}

// indexes are the indexes among files, by name.
func indexes(files []File) map[string]File {
	found := map[string]File{}
	for _, f := range files {
		if isIndex(f.Name) {
			found[f.Name] = f
		}
	}
	return found
}
