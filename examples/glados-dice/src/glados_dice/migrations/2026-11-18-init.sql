CREATE TABLE dice_rolls (
    roll_id varchar(32) NOT NULL,
    position integer NOT NULL,
    sides integer NOT NULL,
    result integer NOT NULL,
    rolled_at varchar(32) NOT NULL,
    PRIMARY KEY (roll_id, position)
);
CREATE INDEX dice_rolls_rolled_at ON dice_rolls (rolled_at);
