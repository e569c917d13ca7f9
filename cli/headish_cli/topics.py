"""What all commands share: how to name turns and times, environment variables, exit codes.

``headish help TOPIC`` prints a text as it is written here, for a terminal of 80 columns. The man page of ``headish``
has them all.
"""

from __future__ import annotations

from textwrap import dedent

_INDENTED = {
    "headish": """\
        A HEADISH names one turn of the space. The default is @.

          main               the turn that the bookmark names
          kmqvtx             its handle, as lists show it
          03h9y0v2b3         its id, or the first 8 digits or more
          @                  the newest turn
          main~2             two turns back
          main^2             the second turn that it continues, in a merge
          main@{1}           where the bookmark was, one move ago
          main@{yesterday}   where it was then; see 'headish help times'
          main@{1}~2^2       suffixes are read from left to right
          laptop/main        what another machine calls main

        'log' and 'diff' also take A..B: the turns that lead to B and not to A.
        """,
    "times": """\
        A TIME is one of these, of this machine's zone unless it says another:

          2026-11-20                  a day; with --until it is included
          '2026-11-20 18:30'          a time of day
          2026-11-20T18:30:00+01:00   RFC 3339
          now, today, yesterday       days as people say them
          'yesterday 18:30'
          '2 hours ago', 2.hours.ago  seconds, minutes, hours, days or weeks
        """,
    "environment": """\
        Options win over these variables, and these over 'headish config':

          HEADISH_DB               the database: a path or a URL
          HEADISH_SPACE            the space to use
          HEADISH_AUTHOR           who writes
          HEADISH_READ_ONLY        refuse commands that write
          HEADISH_ISOLATION        required: refuse a database that keeps no
                                   spaces apart
          HEADISH_PTR              the pointer of threads that name none
          HEADISH_PRICES           the table of prices of 'cost' and 'serve'
          HEADISH_MCP_CONFIG       the MCP servers of 'ask --tool-loop'
          HEADISH_TOKEN            the token that 'run' sends
          HEADISH_CONFIG           the configuration file
          HEADISH_PAGER, PAGER     what shows long lists
          HEADISH_SIGNING_KEY      the SSH key that signs
          HEADISH_SIGNERS          who signs with which key, for ssh-keygen
          HEADISH_REVOKED_KEYS     keys that are trusted no more
          NO_COLOR                 print without colours
          HEADISH_SYNC             remotes that 'serve' syncs with
          HEADISH_DEVICE           what this machine is called at remotes
          HEADISH_KEYS             the folder with the keys of remotes
          HEADISH_PASSPHRASE       the passphrase of a remote's key, or in
          HEADISH_PASSPHRASE_FILE  a file

        Keys of providers are read from the variables that their own tools use,
        such as ANTHROPIC_API_KEY.
        """,
    "exit-codes": """\
          0    done, even if there was nothing to do
          1    an error, or findings: of verify, lint or db secure, a broken
               file of an import, an answer that was cut off or does not
               follow its schema
          2    a line that cannot be right, whatever the database holds
          130  Ctrl-C
          141  the reader of a pipe has enough

        A script that gets 2 has a mistake in it. A script that gets 1 has to
        look at the message: one line on stderr that begins with 'headish:'.
        """,
}

TOPICS = {name: dedent(text) for name, text in _INDENTED.items()}
