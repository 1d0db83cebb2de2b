package conformance

import (
	"bytes"

	"github.com/stratalog/strata/codec"
)

// codecValidateRows are the rules of a leader's append, for formats of the Codec's own. Kafka's formats have the
// function Validate, which is not the Codec's.
var codecValidateRows = []row[codecSubject]{
	{
		name: "a magic of one's own is above Kafka's",
		rule: "Magics 0 to 2 are Kafka's formats. One of the Codec's own is above, and its batches have all that those of " +
			"magic 2 have.",
		run: func(c *check, s codecSubject) {
			for _, f := range s.formats {
				if f.magic < 0 {
					c.errorf("Append takes magic %d", f.magic)
				}
			}
		},
	},
	{
		name: "a leader's append keeps a magic of one's own",
		rule: "What comes in a magic of the Codec's own keeps it, or is ErrFormat.",
		run: func(c *check, s codecSubject) {
			s.each(c, func(f format) bool { return f.magic > 2 }, func(f format) {
				batch := s.encode(c, f.header(0), f.records(0))
				r := codec.Rules{Offset: 500, Magic: 2, MaxAge: -1, MaxAhead: -1}
				got, err := codec.Validate(s.Codec, nil, bytes.Clone(batch), r)
				if err != nil {
					c.is(err, codec.ErrFormat, "Validate to magic 2")
					return
				}
				equal(c, s.headerOf(c, got.Batches).Magic, f.magic, "the magic of what is to be written")
				s.holds(c, got.Batches, f.records(500), "what is to be written")
			})
		},
	},
}
