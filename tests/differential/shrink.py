"""A short run of commands that still shows a difference."""

STEPS_MAX = 150_000       # how many are sent again in all


def shows_again(pair, steps):
    """Whether these steps end in a difference, from empty servers."""
    pair.reset()
    found = [difference.step for difference in pair.run(steps)]
    return bool(found) and found[-1] is steps[-1]


def shrink(pair, steps):
    """A part of the steps that still ends in the difference of the last one; None if it does not show again at all."""
    last = steps[-1]
    related = [step for step in steps if step.at == last.at or set(step.words[1:]) & set(last.words[1:])]
    for tail in (related[-50:], related[-1000:], related, steps):
        if shows_again(pair, tail):
            steps = tail
            break
    else:
        return None
    size, left = len(steps) // 2, STEPS_MAX
    while size >= 1 and left > 0:
        begin = 0
        while begin < len(steps) - 1 and left > 0:
            fewer = steps[:begin] + steps[min(begin + size, len(steps) - 1):]
            left -= len(fewer)
            if shows_again(pair, fewer):
                steps = fewer
            else:
                begin += size
        size //= 2
    return steps


def tell(pair, difference, history, again=True):
    """Print a difference and how to see it again. `history` are the steps since the servers were empty, it the last."""
    print("\n".join(difference.lines()))
    shortest = shrink(pair, history) if again else None
    if shortest:
        print("    shown again by")
    else:
        print("    the last steps on that connection")
        shortest = [each for each in history if each.at == difference.step.at][-8:]
    print("\n".join(f"      {step}"[:1000] for step in shortest), flush=True)
